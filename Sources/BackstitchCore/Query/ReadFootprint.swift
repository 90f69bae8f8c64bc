/// What a read looked at, so that changes that can't concern it are told from the others.
///
/// A record concerns a read that was given it, that looked it up, or whose conditions it fulfils. Belongs
/// to one read, on one thread. Memory is bounded: what is more than a limit counts as all records of
/// the entity.
package final class ReadFootprint {
    /// What was read of an entity.
    package struct Records: Sendable {
        /// The most records that are told apart, some 16 bytes each.
        package static let keysMax = 65_536
        /// The most different conditions that are kept.
        package static let conditionsMax = 64

        /// Whether any change of the entity counts.
        package private(set) var isWhole = false
        /// What queries asked of the entity's records.
        package private(set) var conditions: Set<Condition> = []
        /// Hashes of the stored keys of the records that were looked up or belong to an answer. Two
        /// keys with the same hash only make the read run once too often.
        package private(set) var keys: Set<Int> = []

        package init() {}

        package mutating func add(_ key: UnsafeRawBufferPointer) {
            guard !isWhole else { return }
            unsafe keys.insert(key.recordHash)
            if keys.count > Self.keysMax { addAll() }
        }

        package mutating func add(_ condition: Condition) {
            guard !isWhole else { return }
            if condition == .constant(true) { return addAll() }
            conditions.insert(condition)
            if conditions.count > Self.conditionsMax { addAll() }
        }

        package mutating func addAll() {
            isWhole = true
            conditions = []
            keys = []
        }
    }

    /// What was read of a view.
    package struct View: Sendable {
        /// The entities that it follows from: their names, or nil for all.
        let entities: Set<String>?
        /// Whether it follows in the same commit; if not, its state tells.
        package let isInline: Bool
        /// What the store notes of the view; another note is another view.
        package let state: [UInt8]

        package init(entities: Set<String>?, isInline: Bool, state: [UInt8]) {
            self.entities = entities
            self.isInline = isInline
            self.state = state
        }

        /// Whether a commit that changed records of these entities changed it.
        package func isChanged<Names: Sequence<String>>(by names: Names) -> Bool {
            isInline && names.contains { entities?.contains($0) ?? true }
        }
    }

    /// What was read of each entity.
    package private(set) var records: [EntityNumber: Records] = [:]
    /// The views that were read, by name.
    package private(set) var views: [String: View] = [:]
    /// Whether something was read that any commit may change: the log, or notes of the store.
    package private(set) var isEverything = false
    /// Whether it was read how far records are synchronised.
    package private(set) var hasSyncState = false
    /// Whether what is read belongs to a query whose conditions are noted.
    private var isInQuery = false

    package init() {}

    /// Notes a record that was looked up, whether it is there or not.
    package func note(_ key: UnsafeRawBufferPointer, of entity: EntityNumber) {
        if !isInQuery { unsafe records[entity, default: Records()].add(key) }
    }

    /// Notes a record that a query looked up for another one, whether it is there or not.
    func noteOther(_ key: UnsafeRawBufferPointer, of entity: EntityNumber) {
        unsafe records[entity, default: Records()].add(key)
    }

    /// Notes what a query asked of records that belong to another one.
    func noteOther(_ condition: Condition, of entity: EntityNumber) {
        records[entity, default: Records()].add(condition)
    }

    /// Notes all records of an entity.
    package func noteAll(of entity: EntityNumber) {
        if !isInQuery { records[entity, default: Records()].addAll() }
    }

    /// Notes that any commit may change what was read.
    package func noteEverything() {
        if !isInQuery { isEverything = true }
    }

    /// Notes that a record was left out of an answer because bytes of it are not on this device. They
    /// come with a commit that changes no record.
    package func noteLeftOut() { isEverything = true }

    /// Notes that it was read how far records are synchronised.
    package func noteSyncState() { hasSyncState = true }

    /// Notes a view.
    package func note(_ view: View, named name: String) { views[name] = view }

    /// Visits the records that a query matches, and notes them with its conditions instead of what
    /// finding them reads.
    func query(
        _ condition: Condition, of entity: EntityNumber,
        matches: (_ note: (_ key: UnsafeRawBufferPointer) -> Void) throws -> Void
    ) rethrows {
        var read = records.removeValue(forKey: entity) ?? Records()
        read.add(condition)
        records[entity] = read
        try inside {
            try unsafe matches { unsafe self.records[entity, default: Records()].add($0) }
        }
    }

    /// Runs a closure whose reads belong to something that is noted already.
    package func inside<Result>(_ body: () throws -> Result) rethrows -> Result {
        let was = isInQuery
        isInQuery = true
        defer { isInQuery = was }
        return try body()
    }
}

extension UnsafeRawBufferPointer {
    /// The hash of a stored record key; another one in each run of the program.
    package var recordHash: Int {
        var hasher = Hasher()
        unsafe hasher.combine(bytes: self)
        return hasher.finalize()
    }
}
