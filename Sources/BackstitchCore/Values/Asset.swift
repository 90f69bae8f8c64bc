/// A file that a record holds: what describes its content, never the bytes.
///
/// The bytes are in the store's folder, under the SHA-256 of the content, and the service keeps them
/// apart from the record. Get one from `store.assets.add(contentsOf:)`, and save it as any value.
public struct Asset: Hashable, Sendable, Codable {
    /// The SHA-256 of the content in 64 lower-case hexadecimal digits; nil while only the service
    /// knows the content and its checksum is of another kind.
    public let content: String?
    /// The service's checksum of the content; nil if the service did not tell one yet.
    public let serviceChecksum: String?
    /// The size of the content in bytes.
    public let byteCount: Int64
    /// The media type, such as `image/jpeg`. It stays on this device: the service keeps none.
    public let contentType: String?
    /// The name that the file had. It stays on this device: the service keeps none.
    public let fileName: String?

    /// An asset by its parts.
    package init(
        content: String?, serviceChecksum: String? = nil, byteCount: Int64,
        contentType: String? = nil, fileName: String? = nil
    ) {
        self.content = content
        self.serviceChecksum = serviceChecksum
        self.byteCount = byteCount
        self.contentType = contentType
        self.fileName = fileName
    }

    /// The most bytes of each text of an asset.
    static let textBytesMax = 4_096

    /// Whether both are known to be the same content: by their hashes if both have one, else by the
    /// service's checksums.
    public func hasSameContent(as other: Asset) -> Bool {
        if let content, let others = other.content { return content == others }
        guard let serviceChecksum else { return false }
        return serviceChecksum == other.serviceChecksum
    }

    /// The same file with what a device learned of it.
    package func adding(content: String?, serviceChecksum: String?) -> Asset {
        Asset(
            content: content ?? self.content,
            serviceChecksum: serviceChecksum ?? self.serviceChecksum, byteCount: byteCount,
            contentType: contentType, fileName: fileName)
    }

    /// Why it can't be stored; nil if it can.
    var violation: String? {
        if content == nil, serviceChecksum == nil { return "the file has no checksum" }
        if let content, !ContentHash.isDigits(content) {
            return "the hash of the file is no SHA-256"
        }
        if byteCount < 0 { return "the size of the file is negative" }
        let texts = [serviceChecksum, contentType, fileName]
        let isLong = texts.contains { ($0?.utf8.count ?? 0) > Self.textBytesMax }
        return isLong ? "a text of the file has more than \(Self.textBytesMax) bytes" : nil
    }
}

extension Asset: ScalarAttributeValue {
    /// `asset`.
    public static var _attributeType: AttributeType { .asset }

    /// Reads a stored asset; one that came from the service before the type was declared too.
    public init(_field field: _FieldValue) throws {
        guard case .asset(let asset)? = AssetTraits.value(stored: field) else {
            throw field.mismatch()
        }
        self = asset
    }

    /// Writes the descriptor; throws if it is none.
    public func _write(to writer: inout _FieldWriter, at index: Int) throws {
        try writer.write(value: _recordValue, at: index)
    }

    /// `asset`.
    public var _recordValue: RecordValue { .asset(self) }
}
