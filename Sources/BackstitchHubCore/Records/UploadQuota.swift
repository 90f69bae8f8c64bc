import Threading

/// What addresses for uploads, and files that no record holds yet, may take up or do.
///
/// It is kept in memory: after a restart files that were uploaded before are not counted any more,
/// and go by themselves within the time that they are kept for.
final class UploadQuota: Sendable {
    private struct Entry {
        var user: HubKey
        var database: Partition
        var bytes: Int64
        /// Milliseconds since 1970.
        var end: Int64
    }

    /// Keys in the order of their ends: each kind is kept for the same time.
    private struct Ends {
        private var keys: [(end: Int64, key: [UInt8])] = []
        private var first = 0

        var count: Int { keys.count - first }

        mutating func add(_ key: [UInt8], end: Int64) { keys.append((end, key)) }

        mutating func keep(where isKept: ([UInt8]) -> Bool) {
            keys = keys[first...].filter { isKept($0.key) }
            first = 0
        }

        mutating func take(before now: Int64) -> [[UInt8]] {
            let start = first
            while first < keys.count, keys[first].end <= now { first += 1 }
            let taken = keys[start..<first].map(\.key)
            if first > 1_024, first * 2 > keys.count {
                keys.removeFirst(first)
                first = 0
            }
            return taken
        }
    }

    private struct State {
        var entries: [[UInt8]: Entry] = [:]
        var counts: [HubKey: Int] = [:]
        var bytes: [Partition: Int64] = [:]
        /// Addresses and files by their ends; those that ended earlier are skipped.
        var addresses = Ends()
        var files = Ends()

        mutating func remove(_ key: [UInt8]) {
            guard let entry = entries.removeValue(forKey: key) else { return }
            let count = counts[entry.user, default: 0] - 1
            counts[entry.user] = count > 0 ? count : nil
            let left = bytes[entry.database, default: 0] - entry.bytes
            bytes[entry.database] = left > 0 ? left : nil
        }

        mutating func put(_ key: [UInt8], _ entry: Entry) {
            remove(key)
            entries[key] = entry
            counts[entry.user, default: 0] += 1
            bytes[entry.database, default: 0] += entry.bytes
        }

        mutating func forget(now: Int64) {
            for key in addresses.take(before: now) + files.take(before: now) {
                if let entry = entries[key], entry.end <= now { remove(key) }
            }
            // Most files are soon those of records.
            guard noteCount > 3 * entries.count + UploadQuota.sparesMax else { return }
            let known = entries
            addresses.keep { known[$0] != nil }
            files.keep { known[$0] != nil }
        }

        /// How many entries and ends there are.
        var noteCount: Int { entries.count + addresses.count + files.count }
    }

    /// The most ends of released entries that are kept, beside as many as there are entries.
    private static let sparesMax = 1_024

    private let state = Locked(State())

    /// How many entries and ends are in memory.
    var noteCount: Int { state.withLock { $0.noteCount } }

    /// Notes addresses that are given out; false if there are too many.
    ///
    /// - Parameters:
    ///   - keys: The keys of the addresses' rows.
    ///   - user: Whose addresses are counted.
    ///   - database: Whose space the files take.
    func note(
        _ keys: [HubKey], of user: HubKey, in database: Partition, _ limits: HubLimits, now: Int64
    ) -> Bool {
        state.withLock { state in
            state.forget(now: now)
            // A write may run again: what it noted before counts once.
            let new = keys.count { state.entries[$0.bytes] == nil }
            let count = (state.counts[user] ?? 0) + new
            guard count <= limits.uploadsPerUser else { return false }
            for key in keys where state.entries[key.bytes] == nil {
                let entry = Entry(
                    user: user, database: database, bytes: 0, end: now + limits.addressMilliseconds)
                state.put(key.bytes, entry)
                state.addresses.add(key.bytes, end: entry.end)
            }
            return true
        }
    }

    /// Whether an address was given out since the hub began.
    func knows(_ address: HubKey) -> Bool { state.withLock { $0.entries[address.bytes] != nil } }

    /// Reserves space for an upload that begins; false if it is not left.
    ///
    /// - Parameters:
    ///   - upload: A key of the upload alone, by which it is released.
    ///   - bytesLeft: What is left of the database's space without uploads; nil for no limit.
    func begin(
        _ upload: HubKey, to address: HubKey, bytes: Int64, bytesLeft: Int64?
    ) -> Bool {
        state.withLock { state in
            guard var entry = state.entries[address.bytes] else { return true }
            let used = state.bytes[entry.database] ?? 0
            if let bytesLeft, used + bytes > bytesLeft { return false }
            (entry.bytes, entry.end) = (bytes, .max)
            state.put(upload.bytes, entry)
            return true
        }
    }

    /// Reserves space for an upload that comes in parts, until its address ends; false if it is not left.
    ///
    /// - Parameter upload: A key of the upload, the same for all of its parts.
    func beginParts(
        _ upload: HubKey, to address: HubKey, bytes: Int64, bytesLeft: Int64?, until end: Int64
    ) -> Bool {
        state.withLock { state in
            guard var entry = state.entries[address.bytes] else { return true }
            let own = state.entries[upload.bytes]?.bytes ?? 0
            let used = (state.bytes[entry.database] ?? 0) - own
            if let bytesLeft, used + bytes > bytesLeft { return false }
            let isNew = state.entries[upload.bytes] == nil
            (entry.bytes, entry.end) = (bytes, end)
            state.put(upload.bytes, entry)
            if isNew { state.addresses.add(upload.bytes, end: end) }
            return true
        }
    }

    /// Notes that a file came to an address: from now on its own size counts, for as long as the
    /// file is kept; false if there is no space for it.
    ///
    /// Parameters as above; `upload` has its space already, if it began, and is released.
    func take(
        _ address: HubKey, receipt: HubKey, upload: HubKey?, bytes: Int64, bytesLeft: Int64?,
        until end: Int64
    ) -> Bool {
        state.withLock { state in
            guard var file = state.entries[address.bytes] else { return true }
            let own = upload.flatMap { state.entries[$0.bytes]?.bytes } ?? 0
            let used = (state.bytes[file.database] ?? 0) - own
            if let bytesLeft, used + bytes > bytesLeft { return false }
            state.remove(address.bytes)
            if let upload { state.remove(upload.bytes) }
            (file.bytes, file.end) = (bytes, end)
            state.put(receipt.bytes, file)
            state.files.add(receipt.bytes, end: end)
            return true
        }
    }

    /// Forgets an address, or a file that a record holds now.
    func release(_ key: HubKey) { state.withLock { $0.remove(key.bytes) } }

    /// The bytes of a database that addresses and files take.
    func bytes(of database: Partition) -> Int64 { state.withLock { $0.bytes[database] ?? 0 } }
}
