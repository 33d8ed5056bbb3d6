"""The depth camera: configuration, rendering, corruption, latency and history."""
