package import BackstitchCore
import Foundation

extension ServiceValue {
    /// The size that the limits of the protocol count, in bytes.
    package var countedBytes: Int {
        switch self {
        case .null: 0
        case .string(let text): text.utf8.count
        case .int64, .double, .timestamp: 8
        case .bytes(let data): data.count
        case .reference(let reference): reference.recordName.utf8.count
        case .asset, .location: 64
        case .list(let elements, _): elements.reduce(0) { $0 + $1.countedBytes }
        case .unknown(let value): value.json.utf8.count
        }
    }
}

extension WireFields {
    /// The size that the limits count, in bytes.
    package var byteCount: Int {
        reduce(0) { $0 + $1.key.utf8.count + ($1.value.value?.countedBytes ?? 0) }
    }

    /// The checksums of the files that fields hold.
    package var assetChecksums: [String] {
        values.flatMap { field -> [String] in
            switch field.value {
            case .asset(let asset): asset.fileChecksum.map { [$0] } ?? []
            case .list(let elements, .asset):
                elements.compactMap { element in
                    guard case .asset(let asset) = element else { return nil }
                    return asset.fileChecksum
                }
            default: []
            }
        }
    }
}
