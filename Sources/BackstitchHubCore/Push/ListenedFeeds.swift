import Threading

/// Up to where devices that listen were told of the changes of databases, so that what other hubs change
/// is told from there on.
final class ListenedFeeds: Sendable {
    /// Where the feeds of a database stand.
    struct Position: Hashable, Sendable {
        /// In the list of changed zones.
        var database: UInt64
        /// In the feeds of zones, by their names; 0 for those that are not here.
        var zones: [String: UInt64]
    }

    private struct Feed {
        let access: DatabaseAccess
        var position: Position
        /// With more zones, of which most were deleted, it is forgotten until somebody listens again.
        let zonesMax: Int

        init(_ access: DatabaseAccess, _ position: Position) {
            (self.access, self.position) = (access, position)
            zonesMax = 2 * position.zones.count + ListenedFeeds.sparesMax
        }
    }

    private struct State {
        var feeds: [Partition: Feed] = [:]
        var listeners: Set<CourierListener> = []
        /// With so many listeners those are forgotten who listen no more.
        var listenersMax = ListenedFeeds.sparesMax

        mutating func remove(_ access: DatabaseAccess) {
            feeds[access.partition] = nil
            listeners = listeners.filter { listener in
                guard listener.realm == access.realm.number else { return true }
                return access.ownerRecordName.map { $0 != listener.userRecordName } ?? false
            }
        }

        mutating func forget(_ gone: Set<CourierListener>) {
            listeners.subtract(gone)
            let (listeners, realms) = (listeners, Set(listeners.map(\.realm)))
            feeds = feeds.filter { _, feed in
                let realm = feed.access.realm.number
                guard let owner = feed.access.ownerRecordName else { return realms.contains(realm) }
                return listeners.contains(CourierListener(realm: realm, userRecordName: owner))
            }
            listenersMax = 2 * listeners.count + ListenedFeeds.sparesMax
        }
    }

    /// The most listeners or zones that may be gone and are kept, beside as many as there are others.
    private static let sparesMax = 1_024

    private let state = Locked(State())

    /// Whether it is known where the databases stand that a user's devices are told of.
    func knows(_ listener: CourierListener) -> Bool {
        state.withLock { $0.listeners.contains(listener) }
    }

    /// How many listeners and databases are known.
    var counts: (listeners: Int, feeds: Int) {
        state.withLock { ($0.listeners.count, $0.feeds.count) }
    }

    /// Notes where databases stand of which a user's devices are told from now on.
    ///
    /// - Parameter listens: Whether devices of a user still listen.
    func add(
        _ feeds: [(access: DatabaseAccess, position: Position)], of listener: CourierListener,
        listens: (CourierListener) -> Bool
    ) {
        let known = state.withLock { $0.listeners.count >= $0.listenersMax ? $0.listeners : [] }
        let gone = known.filter { !listens($0) }
        state.withLock { state in
            if !known.isEmpty { state.forget(gone) }
            state.listeners.insert(listener)
            for (access, position) in feeds where state.feeds[access.partition] == nil {
                state.feeds[access.partition] = Feed(access, position)
            }
        }
    }

    /// The partitions of databases to whose changes somebody listens.
    var partitions: [Partition] { state.withLock { Array($0.feeds.keys) } }

    /// The databases among some partitions.
    func databases(in changed: ChangedPartitions) -> [DatabaseAccess] {
        state.withLock { state in
            state.feeds.values.map(\.access).filter { changed.contains($0.partition) }
        }
    }

    /// Where a database stood; nil if nobody listens.
    func position(of partition: Partition) -> Position? {
        state.withLock { $0.feeds[partition]?.position }
    }

    /// Notes that devices are told of what others changed; false if others of it were told meanwhile, and the
    /// rest has to be looked for again.
    func advance(_ partition: Partition, from old: Position, to new: Position) -> Bool {
        state.withLock { state in
            guard let feed = state.feeds[partition], feed.position == old else { return false }
            state.feeds[partition] = Feed(feed.access, new)
            return true
        }
    }

    /// Has a closure write to a database. What it begins is not told as others', see ``OwnWrite``.
    func write<R>(
        to partition: Partition, _ body: (OwnWrite) async throws -> R
    ) async throws -> R {
        let write = OwnWrite(feeds: self, partition: partition)
        do { return try await body(write) } catch {
            write.withdraw()
            throw error
        }
    }

    /// A write of this hub, which tells of it by itself.
    ///
    /// It begins in its transaction, before anybody can read what it writes: who hears of the commit, before
    /// the write itself goes on, then does not take it for another hub's. If changes of others came before
    /// it that were not told yet, it is told with them once more.
    final class OwnWrite: Sendable {
        private let feeds: ListenedFeeds
        private let partition: Partition
        private let begun = Locked<FeedStep?>(nil)

        fileprivate init(feeds: ListenedFeeds, partition: Partition) {
            (self.feeds, self.partition) = (feeds, partition)
        }

        /// Notes what is about to be committed. A transaction that is run again begins again.
        func begin(_ step: FeedStep) {
            withdraw()
            if feeds.pass(step, in: partition) { begun.withLock { $0 = step } }
        }

        /// Notes that nothing was committed, as far as is known.
        fileprivate func withdraw() {
            let step = begun.withLock { step in
                defer { step = nil }
                return step
            }
            if let step { feeds.goBack(before: step, in: partition) }
        }
    }

    /// Moves the position over a step that begins there; false if it is elsewhere.
    private func pass(_ step: FeedStep, in partition: Partition) -> Bool {
        state.withLock { state in
            guard let feed = state.feeds[partition] else { return false }
            var position = feed.position
            guard position.database == step.database.lowerBound,
                step.zones.allSatisfy({ position.zones[$0.key, default: 0] == $0.value.lowerBound })
            else { return false }
            position.database = step.database.upperBound
            for (name, range) in step.zones { position.zones[name] = range.upperBound }
            guard position.zones.count <= feed.zonesMax else {
                state.remove(feed.access)
                return false
            }
            state.feeds[partition]?.position = position
            return true
        }
    }

    /// Moves the position back to where a step begins, so that whatever comes there is told.
    private func goBack(before step: FeedStep, in partition: Partition) {
        state.withLock { state in
            guard var position = state.feeds[partition]?.position else { return }
            position.database = min(position.database, step.database.lowerBound)
            for (name, range) in step.zones {
                position.zones[name] = min(position.zones[name, default: 0], range.lowerBound)
            }
            state.feeds[partition]?.position = position
        }
    }

    /// Forgets a database to whose changes nobody listens any more.
    func remove(_ access: DatabaseAccess) { state.withLock { $0.remove(access) } }
}
