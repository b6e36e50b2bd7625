"""What all apps share: page, state, store, jobs, caches."""
