public import Foundation

/// Where the bytes of external attributes are.
package final class ExternalValues: Sendable {
    /// The bytes of a file; nil if they are not on this device.
    let read: @Sendable (Asset) throws -> Data?

    package init(_ read: @escaping @Sendable (Asset) throws -> Data?) { self.read = read }
}

extension _FieldReader {
    /// Reads an external attribute, or takes its default if the row has none.
    public mutating func read(
        external type: Data.Type, at index: Int, default value: @autoclosure () -> Data? = nil
    ) throws -> Data {
        if let data = try externalData(at: index) { return data }
        return try value() ?? Data._absent(at: index)
    }

    /// Reads an external attribute that may be nil.
    public mutating func read(external type: Data?.Type, at index: Int) throws -> Data? {
        try externalData(at: index)
    }

    private mutating func externalData(at index: Int) throws -> Data? {
        guard let field = try storedField(at: index), field.tag != .null else { return nil }
        let asset = try Asset(_field: field)
        guard let data = try layout.external?.read(asset) else {
            throw FieldError(.notHere, index: index)
        }
        return data
    }
}

extension _FieldWriter {
    /// Writes the descriptor of an external attribute's bytes, which have to be kept apart before the
    /// record is.
    public mutating func write(external data: Data?, at index: Int) throws {
        guard let data else { return }
        var hash = SHA256()
        hash.update(data)
        let content = ContentHash.text(hash.finish())
        // What the service called the same bytes stays with them, so that they are no change.
        let known = external.known[field(at: index)]
        let asset =
            known?.content == content
            ? known?.asset : Asset(content: content, byteCount: Int64(data.count))
        try write(value: asset.map { .asset($0) } ?? .null, at: index)
        external.values.append((content, data))
    }
}

/// The external attributes of a record that is being written.
package struct ExternalWrites {
    /// Their bytes by their hashes, which have to be kept before the record is.
    package var values: [(content: String, bytes: Data)] = []
    /// The files that the record has before, and the hashes of their contents.
    package var known: [FieldID: (content: String, asset: Asset)] = [:]

    package init() {}

    var isEmpty: Bool { values.isEmpty && known.isEmpty }
}
