package import BackstitchCore

/// How tables and notes name the content of a file: by its SHA-256, or, while only the service knows
/// the content, by a hash of the service's checksum.
package struct ContentKey: Hashable, Sendable {
    /// 32 bytes.
    package let bytes: [UInt8]

    package init(hash: [UInt8]) {
        precondition(hash.count == ContentHash.byteCount, "A hash has 32 bytes.")
        bytes = hash
    }

    package init(serviceChecksum: String) {
        // No content has a hash that begins like this, unless somebody found a collision.
        bytes = SHA256.hash(of: Array("service checksum \(serviceChecksum)".utf8))
    }

    /// The key of a file; nil if it has neither hash nor checksum.
    package init?(_ asset: Asset) {
        if let hash = asset.content.flatMap(ContentHash.bytes) {
            self.init(hash: hash)
        } else if let checksum = asset.serviceChecksum {
            self.init(serviceChecksum: checksum)
        } else {
            return nil
        }
    }

    /// The hash in hexadecimal digits: the name of the file.
    package var text: String { ContentHash.text(bytes) }
}

extension OperationView {
    /// The files that the operation's values name, before and after it and in a conflict's report.
    ///
    /// Costs a look at the tag of each value if there are none. Values that can't be read name none.
    package var contents: Set<ContentKey> {
        var keys: Set<ContentKey> = []
        for fields in contentFields {
            fields.visitAssets { asset in
                if let key = ContentKey(asset) { keys.insert(key) }
            }
        }
        guard let conflictBytes = unsafe conflictBytes,
            let report = try? unsafe ConflictReport(reading: conflictBytes)
        else {
            return keys
        }
        for case let side? in [report.base, report.local, report.server, report.outcome] {
            for (_, value) in side {
                for asset in value.assets { ContentKey(asset).map { _ = keys.insert($0) } }
            }
        }
        return keys
    }

    /// Whether ``contents`` has any, or may have.
    package var mayNameContents: Bool {
        unsafe conflictBytes != nil || contentFields.contains(where: \.holdsAssets)
    }

    /// The files that the operation sets values to.
    package var newAssets: [Asset] {
        guard kind == .insert || kind == .update, let after = try? after, after.holdsAssets else {
            return []
        }
        var assets: [Asset] = []
        after.visitAssets { assets.append($0) }
        return assets
    }

    private var contentFields: [PackedFields] {
        switch kind {
        case .insert, .baseline: (try? after).map { [$0] } ?? []
        case .update:
            [try? before, try? after].compactMap(\.self)
        case .delete: (try? before).map { [$0] } ?? []
        case .acknowledge, .park, .release, .forget, .journal: []
        }
    }
}

extension PackedFields {
    /// Whether a value is a file or a list that begins with one.
    package var holdsAssets: Bool {
        for position in 0..<count where holdsAsset(at: position) { return true }
        return false
    }

    private func holdsAsset(at position: Int) -> Bool {
        guard let raw = try? unsafe rawValue(at: position) else { return false }
        // An element of a list follows its byte count.
        return unsafe raw[0] == FieldTag.asset.rawValue
            || raw[0] == FieldTag.list.rawValue && raw.count > 5
                && raw[5] == FieldTag.asset.rawValue
    }

    /// Visits the files among the values, also those in lists.
    package func visitAssets(_ visit: (Asset) -> Void) {
        for position in 0..<count where holdsAsset(at: position) {
            guard let value = try? unsafe value(at: position).decoded() else { continue }
            value.assets.forEach(visit)
        }
    }
}

extension RecordValue {
    /// The files that the value holds.
    package var assets: [Asset] {
        switch self {
        case .asset(let asset): [asset]
        case .list(let elements): elements.flatMap(\.assets)
        default: []
        }
    }
}
