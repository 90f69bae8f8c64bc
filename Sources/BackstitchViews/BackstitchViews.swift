// What a program needs that keeps views of its own beside those of this module.

@_exported public import struct BackstitchStore.ProjectedChange
@_exported public import struct BackstitchStore.ProjectedEntities
@_exported public import struct BackstitchStore.ProjectionFailure
@_exported public import enum BackstitchStore.ProjectionMode
@_exported public import struct BackstitchStore.ProjectionStatus
@_exported public import struct BackstitchStore.ProjectionView
@_exported public import protocol BackstitchStore.RecordProjection
@_exported public import struct BackstitchStore.ViewEditor
@_exported public import struct BackstitchStore.ViewKey
@_exported public import protocol BackstitchStore.ViewReading
