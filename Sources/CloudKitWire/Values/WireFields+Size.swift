import BackstitchCore

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
