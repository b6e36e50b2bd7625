"""Fine fields seen as coarse blocks: temperature downscaling with a mediating coarse field."""
