import BackstitchCore
import XXHash

/// A key: the number of its partition, the byte of its table, then parts that sort as bytes.
package struct HubKey: Hashable, Comparable, Sendable {
    /// The tables. FORMAT-HUB.md has their keys and values.
    package enum Table: UInt8, Sendable {
        case state = 0x01
        case realm = 0x02
        case apiToken = 0x03
        case user = 0x04
        case webToken = 0x05
        case serverKey = 0x06
        case databaseName = 0x07
        case zone = 0x08
        case databaseFeed = 0x09
        case database = 0x0A
        case history = 0x0B
        case record = 0x10
        case feed = 0x11
        case link = 0x12
        case type = 0x13
        case tombstone = 0x14
        case subscription = 0x15
        case pushToken = 0x16
        case userPushToken = 0x17
        case ledger = 0x18
        case ledgerTime = 0x19
        case upload = 0x1A
        case asset = 0x1B
        case endedZone = 0x1C
        case expiry = 0x1D
        case signature = 0x1E
        case ledgerTotal = 0x1F
        case doomed = 0x20
        case password = 0x21
        case signInCode = 0x22
        case userIndex = 0x23
        case object = 0x24
        case probe = 0x25
    }

    /// The most bytes of a key.
    package static let byteCountMax = 511

    package private(set) var bytes: [UInt8]

    /// What is kept for the parts of a key, in bytes: most keys find room, so that they are not moved.
    private static let usualBytes = 72

    /// The start of all keys of a partition.
    package init(_ partition: Partition) {
        bytes = []
        bytes.reserveCapacity(Self.usualBytes)
        unsafe withUnsafeBytes(of: partition.number.bigEndian) {
            unsafe bytes.append(contentsOf: $0)
        }
    }

    /// The start of all keys of a table in a partition.
    package init(_ partition: Partition, _ table: Table) {
        self.init(partition)
        bytes.append(table.rawValue)
    }

    /// The key with these bytes behind its partition.
    package init(_ partition: Partition, behind bytes: some Sequence<UInt8>) {
        self.init(partition)
        self.bytes.append(contentsOf: bytes)
    }

    /// A key read from the storage.
    package init(bytes: UnsafeRawBufferPointer) { self.bytes = unsafe Array(bytes) }

    package static func < (left: HubKey, right: HubKey) -> Bool {
        unsafe left.bytes.withUnsafeBytes { left in
            unsafe right.bytes.withUnsafeBytes { unsafe left.order($0) < 0 }
        }
    }

    package static func == (left: HubKey, right: HubKey) -> Bool {
        unsafe left.bytes.withUnsafeBytes { left in
            unsafe right.bytes.withUnsafeBytes { unsafe left.holdsSameBytes(as: $0) }
        }
    }

    /// All bytes at once: an array's own way takes them one by one.
    package func hash(into hasher: inout Hasher) {
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }

    /// The partition; nil of a key without one.
    package var partition: Partition? { unsafe bytes.withUnsafeBytes { unsafe Partition(key: $0) } }

    /// What lies behind the partition, the same in all partitions.
    package var behindPartition: ArraySlice<UInt8> { bytes.dropFirst(Partition.byteCount) }

    /// The table; nil if this version has none of that byte.
    package var table: Table? { behindPartition.first.flatMap(Table.init) }

    /// What lies behind the byte of the table.
    package var behindTable: ArraySlice<UInt8> { behindPartition.dropFirst() }

    /// The key with a number behind it.
    package consuming func adding(_ number: UInt32) -> HubKey { adding(bigEndian: number) }

    /// The key with a number behind it.
    package consuming func adding(_ number: UInt64) -> HubKey { adding(bigEndian: number) }

    private consuming func adding(bigEndian number: some FixedWidthInteger) -> HubKey {
        unsafe withUnsafeBytes(of: number.bigEndian) { unsafe bytes.append(contentsOf: $0) }
        return self
    }

    /// The key with bytes behind it.
    package consuming func adding(_ bytes: some Sequence<UInt8>) -> HubKey {
        self.bytes.append(contentsOf: bytes)
        return self
    }

    /// The key with the last part of a name behind it.
    package consuming func adding(_ name: String) -> HubKey { adding(name.utf8) }

    /// The key with a name behind it that something else follows: a zero ends it.
    package consuming func adding(terminated name: String) -> HubKey {
        adding(name.utf8).adding([0])
    }

    /// The key with the hash of a name, if the name would be too long. Whoever reads has to
    /// compare the name that the value tells.
    package consuming func adding(hashed name: String) -> HubKey {
        var name = name
        let hash = name.withUTF8 { unsafe Checksum.xxh64(UnsafeRawBufferPointer($0)) }
        return adding(hash)
    }
}

extension UnsafeRawBufferPointer {
    /// The text behind a prefix of a key.
    func text(behind prefix: HubKey) -> String {
        unsafe String(decoding: self[prefix.bytes.count...], as: UTF8.self)
    }

    /// The 8 bytes behind a prefix of a key as a number.
    func number(behind prefix: HubKey) -> UInt64 {
        let start = prefix.bytes.count
        guard count >= start + 8 else { return 0 }
        return unsafe UInt64(bigEndian: loadUnaligned(fromByteOffset: start, as: UInt64.self))
    }
}
