"""The app that sets models, engines, and published results beside ours."""
