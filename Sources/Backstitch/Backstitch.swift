@_exported public import BackstitchCore
@_exported public import BackstitchStore
@_exported public import BackstitchSync
