import BackstitchHubCore

/// Decides when hubs tell each other what they changed, and when they look for themselves.
///
/// Telling takes a lock that the whole server shares, so that it is done apart from the writes, and seldom.
/// What is told may be lost, so that each hub also looks now and then at the partitions that it watches.
struct WakeSchedule {
    /// How long it takes at least from one notification to the next, in milliseconds.
    static let gapMilliseconds: Int64 = 50
    /// How long it takes from one look to the next, in milliseconds.
    static let lookMilliseconds: Int64 = 5_000
    /// The most partitions that one notification names; of more it says that anything may have changed. The
    /// server takes up to 8,000 bytes.
    static let partitionsMax = 400

    enum Action: Equatable {
        /// Send the text to the others.
        case tell(String)
        /// Look at the partitions that are watched.
        case look
        /// Wait for something to happen, so long at most.
        case wait(milliseconds: Int64)
    }

    /// What tells this hub from others.
    let sender: Int64
    private var changed: Set<Partition> = []
    /// What is being told.
    private var telling: Set<Partition> = []
    private var lastTold = Int64.min
    private var lastLook: Int64?
    /// The numbers of the last commits of partitions that are watched.
    private var numbers: [Partition: Int64] = [:]

    init(sender: Int64) { self.sender = sender }

    /// Whether there is something to tell.
    var hasNews: Bool { !changed.isEmpty }

    /// Notes commits that this hub is about to make, with their numbers in the partitions, so that no look
    /// takes them for those of others.
    mutating func begin(_ commits: [(partition: Partition, number: Int64)]) {
        for (partition, number) in commits where numbers[partition] == number - 1 {
            numbers[partition] = number
        }
        // If another hub's commits came between, the next look finds them.
    }

    /// Notes how commits ended that this hub began.
    mutating func end(_ commits: [(partition: Partition, number: Int64)], areMade: Bool) {
        for (partition, number) in commits {
            if areMade {
                changed.insert(partition)
            } else if numbers[partition] == number {
                // Another commit gets the number.
                numbers[partition] = number - 1
            }
        }
    }

    /// What is to be done.
    ///
    /// - Parameter isWatching: Whether the hub wants to hear of the commits of other hubs.
    mutating func next(now: Int64, isWatching: Bool) -> Action {
        var wait = Int64(60_000)
        if !changed.isEmpty {
            let left = lastTold == .min ? 0 : lastTold + Self.gapMilliseconds - now
            if left <= 0 {
                lastTold = now
                (telling, changed) = (changed, [])
                return .tell(text)
            }
            wait = min(wait, left)
        }
        if isWatching {
            let left = lastLook.map { $0 + Self.lookMilliseconds - now } ?? 0
            if left <= 0 {
                lastLook = now
                return .look
            }
            wait = min(wait, left)
        }
        return .wait(milliseconds: wait)
    }

    /// Notes that others were told.
    mutating func told() { telling = [] }

    /// Notes that the connection was cut: what was being told is told again, and what others told meanwhile
    /// is looked for.
    mutating func reconnect() {
        changed.formUnion(telling)
        numbers = [:]
        lookSoon()
    }

    /// Has the next look be made at once.
    mutating func lookSoon() { lastLook = nil }

    /// Notes the numbers of the last commits that a look found, of partitions that are watched.
    ///
    /// - Returns: The partitions that others may have changed since the last look, those among them that are
    ///   new to it.
    mutating func looked(_ found: [Partition: Int64]) -> Set<Partition> {
        let changed = found.filter { partition, number in
            numbers[partition].map { $0 < number } ?? true
        }
        // Commits of this hub that are under way were not found yet.
        numbers = found.merging(numbers.filter { found[$0.key] != nil }) { max($0, $1) }
        return Set(changed.keys)
    }

    private var text: String {
        let names =
            telling.count > Self.partitionsMax
            ? ["*"] : telling.sorted().map(\.text)
        return "\(String(UInt64(bitPattern: sender), radix: 16)) \(names.joined(separator: ","))"
    }

    /// What a notification says that came; nil if it is this hub's own.
    func read(_ text: String) -> ChangedPartitions? {
        let parts = text.split(separator: " ")
        guard parts.count == 2 else { return .all }
        if parts[0] == String(UInt64(bitPattern: sender), radix: 16) { return nil }
        let partitions = parts[1].split(separator: ",").map { Partition(text: $0) }
        guard partitions.allSatisfy({ $0 != nil }) else { return .all }
        return .some(Set(partitions.compactMap { $0 }))
    }
}
