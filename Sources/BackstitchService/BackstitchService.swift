// What a program needs that implements a service of its own, or looks at what one holds.

@_exported public import struct BackstitchCore.AssetField
@_exported public import struct BackstitchCore.DatabaseChangesPage
@_exported public import enum BackstitchCore.DatabaseScope
@_exported public import enum BackstitchCore.LookupResult
@_exported public import enum BackstitchCore.ModificationResult
@_exported public import struct BackstitchCore.NamedFields
@_exported public import enum BackstitchCore.RecordModification
@_exported public import protocol BackstitchSync.RecordService
@_exported public import struct BackstitchCore.ServiceAsset
@_exported public import enum BackstitchSync.ServiceCapability
@_exported public import struct BackstitchCore.ServiceDeletion
@_exported public import struct BackstitchCore.ServiceError
@_exported public import enum BackstitchCore.ServiceFieldType
@_exported public import struct BackstitchCore.ServiceLimits
@_exported public import struct BackstitchCore.ServiceLocation
@_exported public import struct BackstitchCore.ServiceRecord
@_exported public import struct BackstitchCore.ServiceReference
@_exported public import enum BackstitchCore.ServiceValue
@_exported public import struct BackstitchCore.UnknownValue
@_exported public import struct BackstitchCore.ZoneChangesPage
@_exported public import struct BackstitchCore.ZoneID
@_exported public import struct BackstitchCore.GeoLocation
