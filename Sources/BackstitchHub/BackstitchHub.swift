@_exported public import BackstitchHubCore
