import BackstitchCore
import Foundation

/// The files that a server keeps, and those that are on their way to it.
struct SimulatedFiles: Sendable {
    /// The field of a record that a file is for.
    struct Place: Hashable, Sendable {
        var user: String
        var zone: ZoneID
        var recordName: String
        var fieldName: String

        /// Whether what was made for this place may be used for another one; without the name of a record it
        /// may be for all of the zone.
        func includes(_ other: Place) -> Bool {
            self == other || recordName.isEmpty && user == other.user && zone == other.zone
        }
    }

    private struct Receipt: Sendable {
        var place: Place
        var checksum: String
        var end: Int64
    }

    /// How long receipts and addresses are good, in milliseconds.
    static let lifeMilliseconds: Int64 = 15 * 60_000

    /// By checksum.
    private(set) var contents: [String: [UInt8]] = [:]
    private var receipts: [String: Receipt] = [:]
    private var addresses: [String: (checksum: String, end: Int64)] = [:]
    /// What came of uploads that were cut.
    private var parts: [Place: [UInt8]] = [:]
    private var numbers = 0
    /// The bytes of all bodies of uploads.
    private(set) var receivedBytes: Int64 = 0
    /// The uploads that were gone on with.
    private(set) var resumedCount = 0

    // MARK: Uploads

    /// How many bytes of an upload are there; it goes on after them.
    func receivedCount(_ place: Place, of bytes: [UInt8]) -> Int {
        guard let part = parts[place], bytes.starts(with: part) else { return 0 }
        return part.count
    }

    /// Takes bytes of an upload.
    ///
    /// - Parameter count: How many arrive before the connection breaks; nil for all that are left.
    /// - Returns: Whether the upload is whole.
    mutating func receive(_ bytes: [UInt8], for place: Place, count: Int?) -> Bool {
        let start = receivedCount(place, of: bytes)
        if start > 0 { resumedCount += 1 }
        let end = min(bytes.count, start + (count ?? bytes.count))
        receivedBytes += Int64(end - start)
        parts[place] = Array(bytes[..<end])
        return end == bytes.count
    }

    /// Keeps an upload that is whole.
    mutating func keep(
        _ bytes: [UInt8], for place: Place, opaque: Bool, now: Int64
    ) -> ServiceAsset {
        parts[place] = nil
        let checksum = Self.checksum(of: bytes, opaque: opaque)
        contents[checksum] = bytes
        numbers += 1
        let receipt = "receipt-\(numbers)"
        receipts[receipt] = Receipt(
            place: place, checksum: checksum, end: now + Self.lifeMilliseconds)
        return ServiceAsset(
            fileChecksum: checksum, size: Int64(bytes.count), receipt: receipt)
    }

    /// A receipt for a file that a record of a zone holds; nil if its content is gone.
    mutating func rereference(_ checksum: String, in zone: Place, now: Int64) -> ServiceAsset? {
        guard let bytes = contents[checksum] else { return nil }
        numbers += 1
        let receipt = "receipt-\(numbers)"
        receipts[receipt] = Receipt(
            place: zone, checksum: checksum, end: now + Self.lifeMilliseconds)
        return ServiceAsset(fileChecksum: checksum, size: Int64(bytes.count), receipt: receipt)
    }

    /// Drops what came of an upload that was cut.
    mutating func forgetPart(_ place: Place) { parts[place] = nil }

    /// A checksum that clients can't compute, as Apple's, or the SHA-256, as a hub's.
    static func checksum(of bytes: [UInt8], opaque: Bool) -> String {
        guard opaque else { return SHA256.hexadecimal(of: bytes) }
        let hash = SHA256.hash(of: Array("secret".utf8) + bytes)
        return Data([1] + hash.prefix(20)).base64EncodedString()
    }

    // MARK: Records

    /// The value that a record keeps; nil if a file of it has no good receipt.
    func stored(_ value: ServiceValue, for place: Place, now: Int64) -> ServiceValue? {
        switch value {
        case .asset(let file):
            guard let receipt = file.receipt.flatMap({ receipts[$0] }),
                receipt.place.includes(place),
                receipt.end > now, let bytes = contents[receipt.checksum]
            else { return nil }
            return .asset(
                ServiceAsset(fileChecksum: receipt.checksum, size: Int64(bytes.count)))
        case .list(let elements, of: .asset):
            let all = elements.compactMap { stored($0, for: place, now: now) }
            return all.count == elements.count ? .list(all) : nil
        default: return value
        }
    }

    /// Uses up the receipts of a value that was saved.
    mutating func useUp(_ value: ServiceValue) {
        switch value {
        case .asset(let file): if let receipt = file.receipt { receipts[receipt] = nil }
        case .list(let elements, of: .asset): for element in elements { useUp(element) }
        default: break
        }
    }

    /// Has no receipt that was given out be good any more.
    mutating func expireReceipts() { receipts = [:] }

    // MARK: Downloads

    /// A value with addresses that its files are downloaded from.
    mutating func adding(to value: ServiceValue, now: Int64) -> ServiceValue {
        switch value {
        case .asset(var file):
            guard let checksum = file.fileChecksum else { return value }
            numbers += 1
            let url = "simulated://file/\(numbers)/${f}"
            addresses[url] = (checksum, now + Self.lifeMilliseconds)
            file.downloadURL = url
            return .asset(file)
        case .list(let elements, of: .asset):
            return .list(elements.map { adding(to: $0, now: now) })
        default: return value
        }
    }

    /// The content at an address; fails as services do if the address ended or the content is gone.
    func content(at url: String?, now: Int64) -> Result<[UInt8], ServiceError> {
        guard let address = url.flatMap({ addresses[$0] }), address.end > now else {
            return .failure(ServiceError(.permissionDenied, "the address of the file ended"))
        }
        return contents[address.checksum].map { .success($0) }
            ?? .failure(ServiceError(.assetMissing, "the file is gone"))
    }

    /// Has no address that was given out be good any more.
    mutating func expireAddresses() { addresses = [:] }

    /// Removes the contents that are not among these and have no receipt.
    mutating func removeContents(but kept: Set<String>, now: Int64) {
        let promised = Set(receipts.values.filter { $0.end > now }.map(\.checksum))
        contents = contents.filter { kept.contains($0.key) || promised.contains($0.key) }
    }

    /// Loses a content, as a service does by an accident.
    mutating func lose(_ checksum: String) { contents[checksum] = nil }

    /// Changes a byte of a content.
    mutating func damage(_ checksum: String) {
        guard contents[checksum]?.isEmpty == false else { return }
        contents[checksum]?[0] ^= 0xFF
    }
}

extension ServiceValue {
    /// Whether it is a file or a list of them.
    var isFile: Bool {
        switch self {
        case .asset, .list(_, of: .asset): true
        default: false
        }
    }

    /// The checksums of the files.
    var fileChecksums: [String] {
        switch self {
        case .asset(let file): file.fileChecksum.map { [$0] } ?? []
        case .list(let elements, of: .asset): elements.flatMap(\.fileChecksums)
        default: []
        }
    }
}

extension RecordModification {
    /// The fields that are set to files.
    fileprivate var files: NamedFields {
        switch self {
        case .create(_, _, let fields), .update(_, _, _, let fields):
            fields.values.contains(where: \.isFile) ? fields.filter { $0.value.isFile } : [:]
        case .delete: [:]
        }
    }

    /// The modification with other values of some fields.
    fileprivate func setting(_ files: NamedFields) -> RecordModification {
        switch self {
        case .create(let name, let type, let fields):
            .create(recordName: name, recordType: type, fields: fields.merging(files))
        case .update(let name, let type, let tag, let fields):
            .update(
                recordName: name, recordType: type, changeTag: tag,
                fields: fields.merging(files))
        case .delete: self
        }
    }
}

extension CloudState {
    /// Checks the receipts of the files that operations set fields to, and puts in their place what records
    /// keep.
    func storingFiles(
        of operations: [RecordModification], in zone: ZoneID, of user: String,
        imposed: inout [Int: ServiceError]
    ) -> [RecordModification] {
        operations.enumerated().map { index, operation in
            let sent = operation.files
            guard !sent.isEmpty else { return operation }
            var stored: NamedFields = [:]
            for (name, value) in sent {
                let place = SimulatedFiles.Place(
                    user: user, zone: zone, recordName: operation.recordName, fieldName: name)
                stored[name] = files.stored(value, for: place, now: stamp.milliseconds)
            }
            guard stored.count == sent.count else {
                if imposed[index] == nil {
                    imposed[index] = ServiceError(.assetMissing, "no file has that receipt")
                }
                return operation
            }
            return operation.setting(stored)
        }
    }

    /// Uses up the receipts of what was saved.
    mutating func useUpReceipts(
        of operations: [RecordModification], _ results: [ModificationResult]
    ) {
        for (operation, result) in zip(operations, results) where !result.isFailure {
            for value in operation.files.values { files.useUp(value) }
        }
    }

    /// The checksums of all files that records hold.
    var heldChecksums: Set<String> {
        var held: Set<String> = []
        for database in databases.values {
            for zone in database.zones.values {
                for slot in zone.slots {
                    for value in slot.record?.fields.values.map(\.self) ?? [] {
                        held.formUnion(value.fileChecksums)
                    }
                }
            }
        }
        return held
    }

    /// The answer to a lookup with the addresses of its files.
    mutating func addingAddresses(to results: [LookupResult]) -> [LookupResult] {
        results.map { result in
            guard case .found(var record) = result,
                record.fields.values.contains(where: \.isFile)
            else { return result }
            for (name, value) in record.fields where value.isFile {
                record.fields[name] = files.adding(to: value, now: stamp.milliseconds)
            }
            return .found(record)
        }
    }
}
