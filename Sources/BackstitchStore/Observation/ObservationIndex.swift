import BackstitchCore
import BackstitchLog
import LMDB

/// What observed reads looked at, to tell which of them a commit concerns.
struct ObservationIndex: Sendable {
    /// What a read looked at of one entity.
    fileprivate struct Reads: Sendable {
        var isWhole = false
        var keys: Set<Int> = []
        var filters: [QueryFilter] = []
    }

    /// What a read looked at besides records.
    fileprivate struct Rest: Sendable {
        /// The commit that the read saw.
        let commit: UInt64
        let views: [String: ReadFootprint.View]
        let isEverything: Bool
        let hasSyncState: Bool
    }

    /// What was done to tell; meters for tests and benchmarks.
    struct Work: Sendable {
        /// The rows that were read.
        var rows = 0
        /// The conditions that were asked of rows.
        var conditions = 0
        /// The observed reads that ran.
        var runs = 0
    }

    /// More changed records of an entity than this are not looked at one by one.
    static let recordsMax = 256

    /// The last operation that each read saw.
    private(set) var sequences: [Int: UInt64] = [:]
    private var reads: [EntityNumber: [Int: Reads]] = [:]
    /// Of those reads that looked at something besides records.
    private var rest: [Int: Rest] = [:]

    init() {}

    /// What one read looked at.
    ///
    /// - Parameter reader: The snapshot that it read.
    init(_ footprint: ReadFootprint, of observation: Int, _ reader: TableReader) throws {
        let reader = reader.unnoted
        try insert(footprint, of: observation, at: reader.log.head, reader)
    }

    var isEmpty: Bool { sequences.isEmpty }

    /// Whether commits without operations can concern a read.
    var needsAllCommits: Bool {
        rest.values.contains { $0.isEverything || !$0.views.isEmpty }
    }

    /// The numbers of those who observe.
    var observations: Set<Int> { Set(sequences.keys) }

    /// Adds what a read looked at.
    ///
    /// - Parameters:
    ///   - sequence: The last operation that the read saw.
    ///   - reader: The snapshot that it read.
    private mutating func insert(
        _ footprint: ReadFootprint, of observation: Int, at sequence: UInt64, _ reader: TableReader
    ) {
        sequences[observation] = sequence
        if footprint.isEverything || footprint.hasSyncState || !footprint.views.isEmpty {
            rest[observation] = Rest(
                commit: reader.access.commit, views: footprint.views,
                isEverything: footprint.isEverything, hasSyncState: footprint.hasSyncState)
        }
        for (entity, found) in footprint.records {
            var read = Reads(isWhole: found.isWhole, keys: found.keys)
            if let binding = reader.catalog.table(entity)?.binding {
                for condition in found.conditions {
                    do {
                        read.filters.append(try QueryFilter(condition, in: binding))
                    } catch {
                        // Planning said so too: the read throws, and is due with any change.
                        read.isWhole = true
                    }
                }
            }
            reads[entity, default: [:]][observation] = read
        }
    }

    /// Adds what another index has.
    mutating func insert(_ other: ObservationIndex) {
        for observation in other.observations { remove(observation) }
        sequences.merge(other.sequences) { $1 }
        rest.merge(other.rest) { $1 }
        for (entity, found) in other.reads { reads[entity, default: [:]].merge(found) { $1 } }
    }

    mutating func remove(_ observation: Int) {
        guard sequences.removeValue(forKey: observation) != nil else { return }
        rest[observation] = nil
        for entity in reads.keys {
            reads[entity]?[observation] = nil
            if reads[entity]?.isEmpty == true { reads[entity] = nil }
        }
    }

    /// The observations whose reads can give something else after a change.
    ///
    /// - Parameters:
    ///   - reader: A snapshot from after the change, which notes nothing.
    ///   - work: What is done is added to it.
    func touched(
        by change: ChangeSet, in reader: TableReader, _ work: inout Work
    ) throws -> Set<Int> {
        /// Whether a read did not see the change already.
        func isLater(_ observation: Int) -> Bool {
            sequences[observation].map { $0 + 1 < change.sequences.upperBound } ?? false
        }
        guard change.isComplete else { return observations.filter(isLater) }
        var touched: Set<Int> = []
        for (observation, rest) in rest
        where try rest.isTouched(by: change, isLater: isLater(observation), in: reader) {
            touched.insert(observation)
        }
        for (name, changed) in change.records {
            guard let table = reader.catalog.table(named: name),
                let reads = reads[table.number]
            else { continue }
            let hashes = [changed.deleted, changed.inserted, changed.updated].joined()
                .map { key in unsafe key.bytes.withUnsafeBytes(unsafe \.recordHash) }
            var left: [(observation: Int, read: Reads)] = []
            for (observation, read) in reads
            where isLater(observation) && !touched.contains(observation) {
                if read.isTouched(byKeys: hashes) {
                    touched.insert(observation)
                } else if !read.filters.isEmpty {
                    left.append((observation, read))
                }
            }
            try touch(&touched, left, table.number, changed, in: reader, &work)
        }
        return touched
    }

    /// Adds the observations with a condition that a changed record fulfils now.
    private func touch(
        _ touched: inout Set<Int>, _ reads: [(observation: Int, read: Reads)],
        _ entity: EntityNumber, _ changed: ChangeSet.Records, in reader: TableReader,
        _ work: inout Work
    ) throws {
        var left = reads
        for key in [changed.inserted, changed.updated].joined() where !left.isEmpty {
            work.rows += 1
            try unsafe key.bytes.withUnsafeBytes { key in
                _ = try unsafe reader.withRow(of: entity, key: key) { body in
                    left.removeAll { observation, read in
                        work.conditions += read.filters.count
                        guard unsafe read.isTouched(byRow: body, key: key) else { return false }
                        touched.insert(observation)
                        return true
                    }
                    return true
                }
            }
        }
    }
}

extension ObservationIndex.Rest {
    /// Whether a change concerns what a read looked at besides records.
    ///
    /// - Parameter isLater: Whether the read did not see the change already.
    fileprivate func isTouched(
        by change: ChangeSet, isLater: Bool, in reader: TableReader
    ) throws -> Bool {
        if isEverything { return reader.access.commit > commit }
        if isLater, hasSyncState, change.changesSyncState { return true }
        return try views.contains { name, view in
            if isLater, view.isChanged(by: change.records.keys) { return true }
            let state = try StoredProjections(reader).state(name)
            return state?.observedBytes(isInline: view.isInline) != view.state
        }
    }
}

extension ObservationIndex.Reads {
    /// Whether a changed record was looked up, or belonged to an answer.
    fileprivate func isTouched(byKeys hashes: [Int]) -> Bool {
        if isWhole || hashes.count > ObservationIndex.recordsMax { return true }
        return !keys.isEmpty && hashes.contains { keys.contains($0) }
    }

    /// Whether a record fulfils a condition, or a condition can't be asked of it.
    fileprivate func isTouched(
        byRow body: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer
    ) -> Bool {
        filters.contains { unsafe (try? $0.holds(key: key, body: body)) ?? true }
    }
}
