import CloudKitWire

/// Erases databases that have no owner any more, with their files, a part at a time.
///
/// A database is doomed by a row, in the transaction that takes its name away; what is left of it if a
/// process ends early goes with later writes of a hub.
struct Deleter: Sendable {
    /// The most entries that a write erases.
    static let entriesPerWrite = 1_000
    /// How long a database is looked at again after it was doomed, in milliseconds: requests that were
    /// under way then may have written to it later.
    static let graceMilliseconds: Int64 = 10 * 60 * 1_000

    let configuration: HubConfiguration
    let storage: any HubStorage
    let assets: any HubFiles

    /// Erases a part of what is doomed.
    ///
    /// - Returns: How many entries went; 0 if nothing was left.
    func eraseSome() async throws -> Int {
        let doomed = HubKey(.global, .doomed)
        let found = try await storage.read { transaction in
            transaction.expect { [.first(KeyQuery.entriesPerPart, of: doomed)] }
            var found: [(partition: Partition, row: DeletionRow, isEmpty: Bool)] = []
            try unsafe transaction.scan(doomed, from: nil) { key, value in
                let partition = unsafe Partition(number: key.number(behind: doomed))
                unsafe found.append((partition, try DeletionRow(stored: Array(value)), true))
                return found.count < KeyQuery.entriesPerPart
            }
            transaction.expect { found.map { .first(1, of: HubKey($0.partition)) } }
            for index in found.indices {
                try unsafe transaction.scan(HubKey(found[index].partition), from: nil) { _, _ in
                    found[index].isEmpty = false
                    return false
                }
            }
            return found
        }
        var count = 0
        for (partition, row, isEmpty) in found {
            if isEmpty {
                try assets.removeAll(of: partition)
                let isOver = configuration.now >= row.since + Self.graceMilliseconds
                if isOver { try await forget(partition) }
            } else {
                count += try await erase(partition)
            }
            if count >= Self.entriesPerWrite { break }
        }
        return count
    }

    private func erase(_ partition: Partition) async throws -> Int {
        let now = configuration.now
        let (count, doomed) = try await storage.write(
            to: [partition],
            expecting: { [.first(Self.entriesPerWrite, of: HubKey(partition))] }
        ) { transaction in
            // The rows of objects are the last ones, and stay until the objects are gone.
            let count = try transaction.erase(
                partition, before: .object, countMax: Self.entriesPerWrite)
            guard count == 0 else { return (count, [HubKey]()) }
            return try transaction.doomObjects(in: partition, now: now, Self.entriesPerWrite)
        }
        for key in doomed { assets.objects?.note(key) }
        return count
    }

    private func forget(_ partition: Partition) async throws {
        try await storage.write(to: [.global]) { try $0.delete(DeletionRow.key(partition)) }
    }
}

extension HubWriting {
    /// Gives up the objects of a partition of which nothing else is left, but those that may still arrive.
    ///
    /// - Returns: How many were given up now, and the keys of those that were before.
    fileprivate func doomObjects(
        in partition: Partition, now: Int64, _ countMax: Int
    ) throws -> (Int, [HubKey]) {
        var entries: [(key: HubKey, row: ObjectRow)] = []
        try unsafe scan(HubKey(partition, .object), from: nil) { key, value in
            unsafe entries.append((HubKey(bytes: key), try ObjectRow(stored: Array(value))))
            return entries.count < countMax
        }
        var (count, doomed) = (0, [HubKey]())
        for (key, row) in entries {
            switch row.state {
            case .doomed: doomed.append(key)
            case .arriving where row.until > now: break
            case .kept, .arriving:
                var given = row
                given.state = .doomed
                try put(key, given)
                count += 1
            }
        }
        return (count, doomed)
    }
}
