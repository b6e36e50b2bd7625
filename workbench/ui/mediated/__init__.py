"""The app "mediated": fine maps from bags and targets that are matched only through a mediator."""
