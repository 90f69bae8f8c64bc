@testable import BackstitchHubCore

extension HubReading {
    /// Gives a closure all entries that belong to a partition.
    func forEachEntry(_ body: (HubKey, [UInt8]) throws -> Void) throws {
        for first in UInt8.min...UInt8.max {
            let prefix = withUnsafeBytes(of: first) { HubKey(bytes: $0) }
            try scan(prefix, from: nil) { key, value in
                let key = HubKey(bytes: key)
                if key.partition != nil { try body(key, Array(value)) }
                return true
            }
        }
    }

    /// How many entries tables have in all partitions.
    func count(_ tables: HubKey.Table...) throws -> Int {
        var count = 0
        try forEachEntry { key, _ in
            if let table = key.table, tables.contains(table) { count += 1 }
        }
        return count
    }

    /// What contradicts itself in the answers that databases keep.
    func wrongAnswers() throws -> [String] {
        var partitions: Set<Partition> = []
        try forEachEntry { key, _ in
            switch key.table {
            case .ledger, .signature, .ledgerTime, .ledgerTotal:
                if let partition = key.partition { partitions.insert(partition) }
            default: break
            }
        }
        return try partitions.subtracting([.global]).compactMap {
            try AnswerLedger.violation(in: $0, self)
        }
    }

    /// What is wrong with the space that databases are said to take up, by a count of all records.
    func wrongSpace() throws -> [String] {
        var partitions: [Partition] = []
        try forEachEntry { key, value in
            if key.table == .databaseName {
                partitions.append(try DatabaseNameRow(stored: value).partition)
            }
        }
        return try partitions.flatMap { partition -> [String] in
            let database: DatabaseRow? = try row(DatabaseRow.key(partition))
            let zones = try rows(under: HubKey(partition, .zone), as: ZoneRow.self)
                .map(\.row).filter { !$0.isDeleted }
            let bytes = try zones.map {
                try recordBytes(under: $0.place(in: partition).key(.record))
            }
            let isRight = database?.bytes == bytes.reduce(0, +) && zones.map(\.bytes) == bytes
            return isRight ? [] : ["\(partition) \(zones) \(bytes)"]
        }
    }
}
