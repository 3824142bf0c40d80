// Users import Reef alone: the engine's public value types (schema, conditions, errors) come with it.
@_exported import ReefEngine
