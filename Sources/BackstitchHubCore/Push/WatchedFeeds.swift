import Threading

/// For each database that a device listens to: up to which change its devices were notified. Changes that
/// other hubs make after it are still to be notified.
final class WatchedFeeds: Sendable {
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
        /// The most zones that ``position`` may have. It gets one for each zone that is written to, and keeps
        /// those that are deleted. With more than this, most may be deleted: then the feed is dropped, and
        /// is made anew when a device listens again.
        let zonesMax: Int

        init(_ access: DatabaseAccess, _ position: Position) {
            (self.access, self.position) = (access, position)
            zonesMax = 2 * position.zones.count + WatchedFeeds.sparesMax
        }
    }

    private struct State {
        var feeds: [Partition: Feed] = [:]
        var listeners: Set<CourierListener> = []
        /// With so many listeners, the next one that is added has those removed that no longer listen.
        var listenersMax = WatchedFeeds.sparesMax

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
            listenersMax = 2 * listeners.count + WatchedFeeds.sparesMax
        }
    }

    /// How many listeners or zones that are gone may be kept, on top of as many as were there at the last
    /// clean-up.
    private static let sparesMax = 1_024

    private let state = Locked(State())

    /// Whether the positions of the databases are known that a user's devices listen to.
    func knows(_ listener: CourierListener) -> Bool {
        state.withLock { $0.listeners.contains(listener) }
    }

    /// How many listeners and databases are known.
    var counts: (listeners: Int, feeds: Int) {
        state.withLock { ($0.listeners.count, $0.feeds.count) }
    }

    /// Adds a user whose devices listen from now on, with the positions of their databases.
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

    /// The partitions of the databases whose changes a device waits for.
    var partitions: [Partition] { state.withLock { Array($0.feeds.keys) } }

    /// The databases among some partitions.
    func databases(in changed: ChangedPartitions) -> [DatabaseAccess] {
        state.withLock { state in
            state.feeds.values.map(\.access).filter { changed.contains($0.partition) }
        }
    }

    /// The position up to which devices were notified of a database's changes; nil if no device waits for its
    /// changes.
    func position(of partition: Partition) -> Position? {
        state.withLock { $0.feeds[partition]?.position }
    }

    /// Moves a position on, because devices are notified of the changes between the two.
    ///
    /// - Returns: false if the position has changed since it was read. Nothing is moved then, and the caller
    ///   looks for changes from the new position.
    func advance(_ partition: Partition, from old: Position, to new: Position) -> Bool {
        state.withLock { state in
            guard let feed = state.feeds[partition], feed.position == old else { return false }
            state.feeds[partition] = Feed(feed.access, new)
            return true
        }
    }

    /// Runs a closure that writes to a database. Its changes don't count as another hub's, see ``OwnWrite``.
    func write<R>(
        to partition: Partition, _ body: (OwnWrite) async throws -> R
    ) async throws -> R {
        let write = OwnWrite(feeds: self, partition: partition)
        do { return try await body(write) } catch {
            write.withdraw()
            throw error
        }
    }

    /// A write of this hub, which notifies devices of its changes by itself.
    ///
    /// It moves the position inside of its transaction, before others can read its changes. So a thread that
    /// learns of the commit early does not take the changes for another hub's. If other hubs made changes
    /// before it that were not notified yet, the position stays, and devices get its changes a second time,
    /// together with those.
    final class OwnWrite: Sendable {
        private let feeds: WatchedFeeds
        private let partition: Partition
        private let begun = Locked<FeedStep?>(nil)

        fileprivate init(feeds: WatchedFeeds, partition: Partition) {
            (self.feeds, self.partition) = (feeds, partition)
        }

        /// Moves the position over the changes that are about to be committed. A transaction that runs again
        /// calls it again.
        func begin(_ step: FeedStep) {
            withdraw()
            if feeds.pass(step, in: partition) { begun.withLock { $0 = step } }
        }

        /// Moves the position back, because the commit failed, or its outcome is unknown.
        fileprivate func withdraw() {
            let step = begun.withLock { step in
                defer { step = nil }
                return step
            }
            if let step { feeds.goBack(before: step, in: partition) }
        }
    }

    /// Moves the position to the end of a step; false if the step does not begin at the position.
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

    /// Moves the position back to the beginning of a step, so that devices are notified of all changes after
    /// it.
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

    /// Removes a database, and the users who listen to it: the next time that one of their devices listens,
    /// they are added anew.
    func remove(_ access: DatabaseAccess) { state.withLock { $0.remove(access) } }
}
