package import BackstitchCore
import LMDB

/// How many records there are, by entity, how much of them the service does not have, and how many
/// conflicts are in the journal.
package struct OutboxTally: Equatable, Sendable {
    package struct Counts: Equatable, Sendable {
        package var records = 0
        /// Records that were deleted here and whose ends the service does not know.
        package var tombstones = 0
        package var pendingRecords = 0
        package var pendingOperations = 0
        package var parkedRecords = 0
        package var parkedOperations = 0

        /// Calls a closure with the counts in the order in which they are stored.
        fileprivate func visit(_ visit: (Int) -> Void) {
            visit(records)
            visit(tombstones)
            visit(pendingRecords)
            visit(pendingOperations)
            visit(parkedRecords)
            visit(parkedOperations)
        }

        /// The counts that come one after another; nil if one is missing.
        fileprivate static func read(_ next: () -> Int?) -> Counts? {
            guard let records = next(), let tombstones = next(), let pendingRecords = next(),
                let pendingOperations = next(), let parkedRecords = next(),
                let parkedOperations = next()
            else { return nil }
            return Counts(
                records: records, tombstones: tombstones, pendingRecords: pendingRecords,
                pendingOperations: pendingOperations, parkedRecords: parkedRecords,
                parkedOperations: parkedOperations)
        }

        fileprivate mutating func add(_ other: Counts, _ sign: Int) {
            records += sign * other.records
            tombstones += sign * other.tombstones
            pendingRecords += sign * other.pendingRecords
            pendingOperations += sign * other.pendingOperations
            parkedRecords += sign * other.parkedRecords
            parkedOperations += sign * other.parkedOperations
        }
    }

    /// The entities that have anything to count.
    package private(set) var entities: [EntityNumber: Counts] = [:]
    /// The zones beside the store's own that have anything to count, by their slots. Their records are counted
    /// with the entities, too.
    package private(set) var zones: [UInt8: Counts] = [:]
    package var conflicts = 0

    package subscript(entity: EntityNumber) -> Counts {
        get { entities[entity] ?? Counts() }
        set { entities[entity] = newValue == Counts() ? nil : newValue }
    }

    fileprivate(set) subscript(zone slot: UInt8) -> Counts {
        get { zones[slot] ?? Counts() }
        set { zones[slot] = newValue == Counts() ? nil : newValue }
    }

    /// What a zone has, the store's own with slot 0 included.
    package func counts(in slot: UInt8) -> Counts {
        guard slot == 0 else { return self[zone: slot] }
        var own = Counts()
        for counts in entities.values { own.add(counts, 1) }
        for counts in zones.values { own.add(counts, -1) }
        return own
    }

    /// The records with operations that wait and are not parked, and these operations.
    package var pending: (records: Int, operations: Int) {
        var (records, operations) = (0, 0)
        for counts in entities.values {
            records += counts.pendingRecords
            operations += counts.pendingOperations
        }
        return (records, operations)
    }

    /// Adds unsynced records of a zone with operations, or takes them away.
    package mutating func add(
        records: Int, operations: Int, isParked: Bool, of entity: EntityNumber, in slot: UInt8
    ) {
        change(entity, slot) { counts in
            if isParked {
                counts.parkedRecords += records
                counts.parkedOperations += operations
            } else {
                counts.pendingRecords += records
                counts.pendingOperations += operations
            }
        }
    }

    /// Adds a row of a zone, or takes it away; one that was evicted counts as nothing.
    package mutating func add(
        _ count: Int, rowWith flags: RowView.Flags, of entity: EntityNumber, in slot: UInt8
    ) {
        if !flags.contains(.isDeleted) {
            change(entity, slot) { $0.records += count }
        } else if !flags.contains(.isEvicted) {
            change(entity, slot) { $0.tombstones += count }
        }
    }

    private mutating func change(
        _ entity: EntityNumber, _ slot: UInt8, _ change: (inout Counts) -> Void
    ) {
        change(&self[entity])
        if slot != 0 { change(&self[zone: slot]) }
    }
}

/// A tally with what it is of: the state of the store behind an operation, and how far it has come
/// where it is being made.
///
/// Every commit with operations stores it, so that one whose sequence is not that of the last
/// operation shows that a program has written which does not keep it up.
package struct OutboxCounting: Equatable, Sendable {
    package static let version: UInt8 = 1
    /// The rows, operations and journal entries that a commit counts in passing.
    package static let workPerCommit = 1_024

    package var tally = OutboxTally()
    /// The last operation that it has.
    package var sequence: UInt64
    /// The key of the tables up to which rows and journal entries are counted; nil for all.
    package var position: [UInt8]?
    /// Whether the operations of a record count as one: in a store that never syncs, where a compaction
    /// puts one in the place of all.
    package var countsRecords: Bool

    package init(sequence: UInt64, position: [UInt8]?, countsRecords: Bool = false) {
        self.sequence = sequence
        self.position = position
        self.countsRecords = countsRecords
    }

    package var isComplete: Bool { position == nil }

    /// A tally that is still to be made.
    package static func begun(
        at sequence: UInt64, countsRecords: Bool = false
    ) -> OutboxCounting {
        OutboxCounting(
            sequence: sequence, position: sequence == 0 ? nil : [], countsRecords: countsRecords)
    }

    /// Whether the entry at a key of the tables is counted.
    package func covers(_ key: UnsafeRawBufferPointer) -> Bool {
        guard let position else { return true }
        return unsafe !position.withUnsafeBytes { unsafe $0.lexicographicallyPrecedes(key) }
    }
}

extension OutboxCounting {
    private static let isBeingMade: UInt8 = 1
    private static let isOfRecords: UInt8 = 2
    private static let hasZones: UInt8 = 4

    /// The stored form: version, flags, sequence (8, little-endian), and numbers in groups of 7 bits,
    /// lowest first, the highest bit set if more follow.
    package var bytes: [UInt8] {
        let flags =
            (isComplete ? 0 : Self.isBeingMade) | (countsRecords ? Self.isOfRecords : 0)
            | (tally.zones.isEmpty ? 0 : Self.hasZones)
        var bytes: [UInt8] = [Self.version, flags]
        bytes += sequence.littleEndianBytes
        func append(_ number: Int) {
            var rest = UInt64(max(0, number))
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        append(tally.conflicts)
        append(tally.entities.count)
        for (entity, counts) in tally.entities.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            append(Int(entity.rawValue))
            counts.visit(append)
        }
        if !tally.zones.isEmpty { append(tally.zones.count) }
        for (slot, counts) in tally.zones.sorted(by: { $0.key < $1.key }) {
            append(Int(slot))
            counts.visit(append)
        }
        return bytes + (position ?? [])
    }

    /// Reads the stored form; nil if it is none.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count > 10, bytes[0] == Self.version else { return nil }
        var at = 10
        func number() -> Int? {
            var number: UInt64 = 0
            for shift in stride(from: UInt64(0), to: 63, by: 7) {
                guard at < bytes.count else { return nil }
                let byte = bytes[at]
                at += 1
                number |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { return Int(number) }
            }
            return nil
        }
        sequence = bytes.littleEndian(at: 2)
        countsRecords = bytes[1] & Self.isOfRecords != 0
        guard let conflicts = number(), let entityCount = number() else { return nil }
        tally.conflicts = conflicts
        for _ in 0..<entityCount {
            guard let entity = number().flatMap({ UInt16(exactly: $0) }),
                let counts = OutboxTally.Counts.read(number)
            else { return nil }
            tally[EntityNumber(entity)] = counts
        }
        if bytes[1] & Self.hasZones != 0 {
            guard let zoneCount = number() else { return nil }
            for _ in 0..<zoneCount {
                guard let slot = number().flatMap({ UInt8(exactly: $0) }), slot != 0,
                    let counts = OutboxTally.Counts.read(number)
                else { return nil }
                tally[zone: slot] = counts
            }
        }
        let isBeingMade = bytes[1] & Self.isBeingMade != 0
        guard isBeingMade || at == bytes.count else { return nil }
        position = isBeingMade ? Array(bytes[at...]) : nil
    }
}

extension OutboxCounting {
    /// Takes in what an operation did to its record's row, which is already in the log.
    ///
    /// An edit costs nothing; what settles, parks or forgets operations reads their links.
    package mutating func note(
        _ operation: OperationView, from before: RowHeader?, to after: RowHeader?,
        _ reader: TableReader
    ) throws {
        if unsafe operation.conflictBytes != nil {
            let isCovered = unsafe TableKey.withJournal(operation.sequence) { unsafe covers($0) }
            if isCovered { tally.conflicts += 1 }
        }
        let isCovered =
            unsafe isComplete
            || TableKey.withRow(operation.entity, keyBytes: operation.keyBytes) {
                unsafe covers($0)
            }
        guard isCovered else { return }
        let (entity, slot) = (operation.entity, operation.zone)
        if before?.flags != after?.flags {
            if let before { tally.add(-1, rowWith: before.flags, of: entity, in: slot) }
            if let after { tally.add(1, rowWith: after.flags, of: entity, in: slot) }
        }
        let wasDirty = before?.isDirty ?? false
        let isDirty = after?.isDirty ?? false
        guard wasDirty || isDirty else { return }
        let wasParked = before?.flags.contains(.isParked) ?? false
        let isEdit = isDirty && operation.kind.changesContent && operation.kind != .baseline
        if isEdit, !(wasDirty && wasParked) {
            tally.add(
                records: wasDirty ? 0 : 1, operations: wasDirty && countsRecords ? 0 : 1,
                isParked: false, of: entity, in: slot)
            return
        }
        for (sign, header) in [(-1, before), (1, after)] {
            guard let header, header.isDirty else { continue }
            let history = RecordHistory(
                reader, lastSequence: header.lastSequence, syncedSequence: header.syncedSequence)
            let operations = try countsRecords ? 1 : history.unsyncedCount
            tally.add(
                records: sign, operations: sign * operations,
                isParked: header.flags.contains(.isParked), of: entity, in: slot)
        }
    }
}
