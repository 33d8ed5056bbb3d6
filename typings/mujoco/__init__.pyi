# MuJoCo's bindings are compiled and come without types: let every name be anything.
from typing import Any

def __getattr__(name: str) -> Any: ...
