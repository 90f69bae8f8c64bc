import Backstitch
import BackstitchCore
import BackstitchStudio
import BackstitchSync
import Foundation

/// What Studio's page gets beside the documents of the other commands.
enum StudioDocument {
    struct Session: Encodable {
        /// `store` or `hub`.
        let kind: String
        let name: String
        let path: String
        let writable: Bool
        let version: String
    }

    struct Attribute: Encodable {
        let name: String
        let field: String
        let type: String?
        let declared: Bool
        let optional: Bool
        let indexed: Bool
        let unique: Bool
        let localOnly: Bool
        let target: String?

        init(_ attribute: CatalogAttribute) {
            let schema = attribute.schema
            name = attribute.attributeName
            field = attribute.name
            type = schema.map { "\($0.type)" }
            declared = attribute.isDeclared
            optional = schema?.isOptional ?? true
            indexed = schema?.isIndexed ?? false
            unique = schema?.isUnique ?? false
            localOnly = schema?.isLocalOnly ?? false
            target = schema?.reference?.target
        }
    }

    struct Entity: Encodable {
        let name: String
        let declared: Bool
        let records: Int
        let tombstones: Int
        let unreadable: Int
        let attributes: [Attribute]
    }

    /// How far an answer has come that needs a look at every row.
    struct Scan: Encodable {
        /// What to ask for as `through` to go on; nil at the end.
        let through: String?
        /// The rows that were looked at for this part.
        let examined: Int
        /// The rows that there are.
        let total: Int
        /// What to ask for as `place` with each part.
        let after: String?

        init(_ scan: QueryScan, of total: Int, after: String? = nil) {
            through = scan.through.map { Data($0).base64EncodedString() }
            (examined, self.total, self.after) = (scan.examined, total, after)
        }
    }

    struct Record: Encodable {
        private enum Key: String, CodingKey { case place }

        let document: QueryCommand.Document
        /// Where it stands in the order of a scan; places sort as their digits.
        let place: String?

        func encode(to encoder: any Encoder) throws {
            try document.encode(to: encoder)
            var container = encoder.container(keyedBy: Key.self)
            try container.encodeIfPresent(place, forKey: .place)
        }
    }

    struct Records: Encodable {
        let records: [Record]
        var next: QueryCursor?
        /// Nil if the answer was read as its plan says.
        var scan: Scan?
    }

    struct Count: Encodable {
        let count: Int
        /// Whether there may be more: counting ends at a limit.
        let atLeast: Bool
        var scan: Scan?
    }

    /// How a record stands with the service.
    struct State: Encodable {
        let state: String
        let lastSequence: UInt64
        let syncedSequence: UInt64
        let onService: Bool
        let parked: Parked?
    }

    struct Log: Encodable {
        let operations: [LogDocument]
        let lastSequence: UInt64
        /// What to ask for as `before` to go on; nil at the beginning of the log.
        let before: UInt64?
        /// How many operations were looked at.
        let examined: UInt64
    }

    struct Pending: Encodable {
        let entity: String
        let record: String
        let zone: String?
        let owner: String?
        let change: String
        let lastSequence: UInt64

        init(_ pending: PendingRecord, of store: Store) {
            let zone = ZoneName(of: pending.record.key, in: store)
            entity = pending.record.entity
            record = pending.record.name
            self.zone = zone?.name
            owner = zone?.owner
            change = pending.change.rawValue
            lastSequence = pending.lastSequence
        }
    }

    struct Parked: Encodable {
        let entity: String
        let record: String
        let zone: String?
        let owner: String?
        let sequence: UInt64
        let reason: String
        let code: String?
        let message: String

        init(_ parked: ParkedRecord, of store: Store) {
            let zone = ZoneName(of: parked.record.key, in: store)
            entity = parked.record.entity
            record = parked.record.name
            self.zone = zone?.name
            owner = zone?.owner
            sequence = parked.sequence
            reason = parked.reason
            code = parked.code.map { "\($0)" }
            message = parked.message
        }
    }

    struct Outbox: Encodable {
        let pending: [Pending]
        let parked: [Parked]
        /// Whether a list was cut at the limit.
        let cut: Bool
    }

    /// How a query is answered, in words, and Swift code of it; no code for a condition without a short
    /// form.
    struct Explanation: Encodable {
        let steps: [String]
        let swift: String?
    }

    /// The contents of files that are on this device.
    struct Files: Encodable {
        let files: Int
        let bytes: Int64
    }

    struct Moment: Encodable, Equatable {
        let lastSequence: UInt64
        /// Another number whenever the engine of the store has told something.
        let engine: UInt64

        init(lastSequence: UInt64, engine: UInt64) {
            (self.lastSequence, self.engine) = (lastSequence, engine)
        }

        /// The moment that a page knows.
        init(_ call: StudioCall) throws(StudioError) {
            lastSequence = try call.number("after") ?? 0
            engine = try call.number("engine") ?? 0
        }
    }

    struct Changed: Encodable {
        let changed: Bool
    }
}
