@_exported public import BackstitchService
