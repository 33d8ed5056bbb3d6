"""Running a policy on a robot at 50 Hz: needs numpy and onnxruntime, nothing else.

Drivers import the library of their device when they are started, so that a machine
needs only the libraries of the devices it has.
"""
