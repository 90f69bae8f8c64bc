public import BackstitchCore
import Foundation
package import LMDB

/// An error of a store.
///
/// Nothing was changed when a call throws, unless the code is `outcomeUnknown`.
public struct StoreError: BackstitchError {
    /// The kinds of failure; new ones may join.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        private init(_ name: String) { description = name }

        /// There is no store at the path.
        public static let notAStore = Code("notAStore")
        /// The files were written by a newer version of Backstitch.
        public static let newerFormat = Code("newerFormat")
        /// The files are damaged.
        public static let damaged = Code("damaged")
        /// The path can't be read or written.
        public static let inaccessible = Code("inaccessible")
        /// The store is open in this process with other options or another schema.
        public static let openOtherwise = Code("openOtherwise")
        /// The store is in use in a way that prevents this call.
        public static let busy = Code("busy")
        /// The store was closed.
        public static let closed = Code("closed")
        /// The schema is not valid, or does not fit what is stored.
        public static let invalidSchema = Code("invalidSchema")
        /// A data migration threw, so that the store was not opened.
        public static let migrationFailed = Code("migrationFailed")
        /// The entity is not part of the store's schema.
        public static let unknownEntity = Code("unknownEntity")
        /// The zone is not one of the store's.
        public static let unknownZone = Code("unknownZone")
        /// The store can't have more zones.
        public static let tooManyZones = Code("tooManyZones")
        /// There is no record of that id.
        public static let notFound = Code("notFound")
        /// The operation or transaction is not in the log: it was compacted, or never existed.
        public static let notInLog = Code("notInLog")
        /// There is a record of that id already.
        public static let alreadyExists = Code("alreadyExists")
        /// Another record has the same value of a unique attribute.
        public static let notUnique = Code("notUnique")
        /// A record has changes that the service does not have yet.
        public static let unsynced = Code("unsynced")
        /// The record name is not possible.
        public static let invalidName = Code("invalidName")
        /// An attribute that is uploaded refers to a record of another zone.
        public static let crossesZones = Code("crossesZones")
        /// A value can't be stored.
        public static let invalidValue = Code("invalidValue")
        /// A write has more operations, or bytes of them, than the configuration allows.
        public static let tooLarge = Code("tooLarge")
        /// A record can't be read as its Swift type.
        public static let unreadable = Code("unreadable")
        /// Records were changed since, so that a transaction can't be undone as a whole.
        public static let changedSince = Code("changedSince")
        /// A delete rule forbids the delete.
        public static let deleteDenied = Code("deleteDenied")
        /// A query can't be answered.
        public static let invalidQuery = Code("invalidQuery")
        /// Something is at the path of a copy already, or a copy can't be made there.
        public static let invalidTarget = Code("invalidTarget")
        /// The store has no view of that projection.
        public static let unknownProjection = Code("unknownProjection")
        /// The view of a projection can't be read yet.
        public static let projectionNotReady = Code("projectionNotReady")
        /// The view of a projection has stopped, because it could not apply an operation.
        public static let projectionFailed = Code("projectionFailed")
        /// A projection is declared or behaves in a way that is not allowed.
        public static let invalidProjection = Code("invalidProjection")
        /// A write was begun inside a write or a read, or a read inside a write.
        public static let nestedWrite = Code("nestedWrite")
        /// The disk is full, or the store has its largest size. With durability `full`, a reserve
        /// of half a megabyte or more remains for compactions and writes that only delete, once small
        /// writes have made the journal; other writes fail until the disk has a megabyte free again.
        public static let full = Code("full")
        /// The content of a file is not on this device; only the service may have it.
        public static let notHere = Code("notHere")
        /// Neither this device nor the service has the content of a file any more.
        public static let assetMissing = Code("assetMissing")
        /// The content of a file is not what its hash says.
        public static let assetCorrupt = Code("assetCorrupt")
        /// A commit failed, and it is not known whether it is on disk.
        public static let outcomeUnknown = Code("outcomeUnknown")
        /// The operating system failed.
        public static let io = Code("io")
    }

    /// The kind of failure.
    public let code: Code
    /// A message for developers that says what went wrong and what to do; without user data.
    public let message: String
    /// The error of the system, a query or another layer that caused the failure, if there was one.
    public let cause: (any Error)?

    /// A failure by its parts.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension StoreError {
    /// - Parameter commits: Whether it was met in a commit, whose outcome it may leave open.
    package init(_ error: LMDBError, commits: Bool = false) {
        let code: Code =
            switch error.code {
            case .notFoundPath, .notADirectory, .foreignFile: .notAStore
            case .permissionDenied, .readOnlyDirectory, .networkFileSystem: .inaccessible
            case .versionMismatch: .newerFormat
            case .truncated, .damaged: .damaged
            case .differentOptions: .openOtherwise
            case .alreadyWriting: .nestedWrite
            case .closed, .forked: .closed
            case .readersFull, .busy, .beingReplaced: .busy
            case .mapFull, .diskFull: .full
            case .panicked: .io
            case .io: commits ? .outcomeUnknown : .io
            case .keyTooLong, .keyEmpty, .appendOutOfOrder, .cancelled, .other: .io
            }
        switch error.code {
        case .mapFull:
            self.init(
                code,
                "The store has reached its largest size. Raise StoreConfiguration.bytesMax, or "
                    + "delete records and compact. Nothing was changed; reading still works.",
                cause: error)
        case .closed: self = .closed
        default: self.init(code, error.message, cause: error)
        }
    }

    /// The same failure as the one public type, whatever layer threw it.
    ///
    /// - Parameter commits: Whether it was met in a commit, whose outcome it may leave open.
    package static func wrap(_ error: any Error, commits: Bool = false) -> any Error {
        switch error {
        case let error as LMDBError where error.code == .cancelled: CancellationError()
        case let error as LMDBError: StoreError(error, commits: commits)
        case let error as QueryError: StoreError(.invalidQuery, error.message, cause: error)
        case let error as OperationDamage:
            StoreError(
                .damaged,
                "An operation in the log can't be read: \(error). Run verify to learn which.",
                cause: error)
        case let error as FieldError:
            StoreError(.damaged, "A stored field can't be read: \(error).", cause: error)
        default: error
        }
    }

    /// Runs a closure; what it throws is thrown as ``wrap(_:commits:)`` gives it.
    package static func wrapping<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            throw wrap(error)
        }
    }

    package static let closed = StoreError(.closed, "The store is closed. Open it again.")
}
