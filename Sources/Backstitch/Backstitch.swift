// What `import Backstitch` brings: these names and no others. A new one is a promise for years; say in
// `Documentation/internals/surface.md` why it is there.

// MARK: What an app declares

@_exported public import struct BackstitchCore.Asset
@_exported public import struct BackstitchCore.AttributeSchema
@_exported public import enum BackstitchCore.AttributeType
@_exported public import protocol BackstitchCore.AttributeConvertible
@_exported public import protocol BackstitchCore.AttributeValue
@_exported public import protocol BackstitchCore.Entity
@_exported public import struct BackstitchCore.EntityID
@_exported public import struct BackstitchCore.EntityIndex
@_exported public import struct BackstitchCore.EntitySchema
@_exported public import protocol BackstitchCore.EnumAttributeValue
@_exported public import struct BackstitchCore.GeoLocation
@_exported public import protocol BackstitchCore.OrderedAttributeValue
@_exported public import struct BackstitchCore.PositionKey
@_exported public import struct BackstitchCore.StoreSchema
@_exported public import enum BackstitchCore.TextComparison
@_exported public import struct BackstitchCore.ToMany

// MARK: Stores

@_exported public import protocol BackstitchCore.BackstitchError
@_exported public import struct BackstitchLog.ChangeSet
@_exported public import struct BackstitchCore.MonitorEvent
@_exported public import enum BackstitchCore.RetentionPolicy
@_exported public import class BackstitchStore.AssetReader
@_exported public import class BackstitchStore.AssetWriter
@_exported public import struct BackstitchStore.DataMigration
@_exported public import class BackstitchStore.Store
@_exported public import struct BackstitchStore.StoreAssets
@_exported public import protocol BackstitchCore.StoreClock
@_exported public import struct BackstitchStore.StoreConfiguration
@_exported public import struct BackstitchLog.StoreError
@_exported public import struct BackstitchLog.SystemClock

// MARK: Reads and writes

@_exported public import struct BackstitchStore.ReadStream
@_exported public import struct BackstitchStore.ReadTransaction
@_exported public import protocol BackstitchStore.RecordReading
@_exported public import struct BackstitchStore.WriteResult
@_exported public import struct BackstitchStore.WriteTransaction

// MARK: Queries

@_exported public import struct BackstitchCore.DatePeriod
@_exported public import struct BackstitchCore.GroupKeys
@_exported public import struct BackstitchCore.Query
@_exported public import struct BackstitchCore.QueryCondition
@_exported public import protocol BackstitchCore.QueryConditions
@_exported public import struct BackstitchCore.QueryAggregate
@_exported public import struct BackstitchCore.QueryCursor
@_exported public import struct BackstitchCore.QueryError
@_exported public import struct BackstitchStore.QueryPage

// MARK: Records without their Swift types

@_exported public import struct BackstitchStore.DynamicRecord
@_exported public import struct BackstitchCore.RecordID
@_exported public import struct BackstitchCore.RecordKey
@_exported public import struct BackstitchCore.RecordQuery
@_exported public import enum BackstitchCore.RecordValue

// MARK: History and undo

@_exported public import struct BackstitchStore.HistoryEntry
@_exported public import struct BackstitchStore.LoggedOperation
@_exported public import enum BackstitchCore.OperationKind
@_exported public import enum BackstitchCore.OperationOrigin
@_exported public import struct BackstitchStore.UndoReport

// MARK: Upkeep

@_exported public import struct BackstitchStore.BackupReport
@_exported public import struct BackstitchStore.CompactionReport
@_exported public import struct BackstitchSync.StoreInfo

// MARK: Synchronisation

@_exported public import struct BackstitchSync.AccountStores
@_exported public import struct BackstitchSync.ParkedRecord
@_exported public import struct BackstitchSync.PendingRecord
@_exported public import protocol BackstitchSync.RecordService
@_exported public import struct BackstitchCore.ServiceError
@_exported public import struct BackstitchSync.SyncConfiguration
@_exported public import class BackstitchSync.SyncEngine
@_exported public import enum BackstitchSync.SyncEngineEvent
@_exported public import struct BackstitchSync.SyncError
@_exported public import struct BackstitchSync.SyncNotification
@_exported public import struct BackstitchSync.SyncReport
@_exported public import enum BackstitchSync.SyncStatus
@_exported public import enum BackstitchCore.SyncTrigger

// MARK: Conflicts

@_exported public import enum BackstitchCore.ConflictPolicy
@_exported public import struct BackstitchCore.ConflictRules
@_exported public import struct BackstitchCore.RecordConflict

// MARK: What the macros write

@_exported public import struct BackstitchCore._CodedValue
@_exported public import protocol BackstitchCore._EmbeddableValue
@_exported public import struct BackstitchCore._FieldReader
@_exported public import struct BackstitchCore._FieldWriter
@_exported public import struct BackstitchCore._ToManySchema
