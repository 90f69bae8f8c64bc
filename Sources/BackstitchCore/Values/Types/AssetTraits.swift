/// ``Asset``, which has no order.
///
/// | bytes | meaning |
/// |---|---|
/// | 1 | what follows: 1 the content's hash, 2 the service's checksum, 4 a media type, 8 a file name |
/// | 8 | the size in bytes |
/// | 32 | the content's SHA-256, if it is known |
/// | 2, n each | byte count and UTF-8 of those of the texts that there are |
enum AssetTraits: AttributeTraits {
    static let type = AttributeType.asset
    static let tag = FieldTag.asset
    static let serviceType = ServiceFieldType.asset
    static let isOrdered = false

    static func content(of value: RecordValue) -> Asset? {
        if case .asset(let asset) = value { asset } else { nil }
    }

    static func value(_ content: Asset) -> RecordValue { .asset(content) }

    static func append(_ content: Asset, to output: inout ByteBuffer) throws(FieldError) {
        guard content.violation == nil else { throw FieldError(.outOfRange) }
        let hash = content.content.flatMap(ContentHash.bytes)
        let texts = [content.serviceChecksum, content.contentType, content.fileName]
        var parts: UInt8 = hash == nil ? 0 : 1
        for (bit, text) in texts.enumerated() where text != nil { parts |= 2 << UInt8(bit) }
        output.append(parts)
        output.append(little: content.byteCount)
        if let hash { output.append(hash) }
        for case let text? in texts {
            output.append(little: UInt16(text.utf8.count))
            output.append(utf8: text)
        }
    }

    static func content(stored payload: UnsafeRawBufferPointer) throws(FieldError) -> Asset {
        guard payload.count >= 9, unsafe payload[0] < 16 else { throw FieldError(.damaged) }
        let parts = unsafe payload[0]
        var offset = 9
        var hash: String?
        if parts & 1 != 0 {
            guard offset + ContentHash.byteCount <= payload.count else {
                throw FieldError(.damaged)
            }
            hash = unsafe ContentHash.text(payload.part(offset..<(offset + ContentHash.byteCount)))
            offset += ContentHash.byteCount
        }
        var texts: [String?] = []
        for bit in 0..<3 {
            guard parts & 2 << UInt8(bit) != 0 else {
                texts.append(nil)
                continue
            }
            guard offset + 2 <= payload.count else { throw FieldError(.damaged) }
            let end = unsafe offset + 2 + Int(payload.little(UInt16.self, at: offset))
            guard end <= payload.count,
                let text = unsafe String(utf8: payload.part((offset + 2)..<end))
            else { throw FieldError(.damaged) }
            texts.append(text)
            offset = end
        }
        let asset = unsafe Asset(
            content: hash, serviceChecksum: texts[0], byteCount: payload.little(Int64.self, at: 1),
            contentType: texts[1], fileName: texts[2])
        guard offset == payload.count, asset.violation == nil else { throw FieldError(.damaged) }
        return asset
    }

    static func value(stored field: _FieldValue) -> RecordValue? {
        switch field.tag {
        case .asset: unsafe (try? content(stored: field.payload)).map { .asset($0) }
        case .unknown: (try? field.decoded()).flatMap(converted)
        default: nil
        }
    }

    static func isBefore(_ left: Asset, _ right: Asset) -> Bool { false }

    static func appendKey(_ content: Asset, to output: inout ByteBuffer, textBytesMax: Int) {
        output.append(OrderedKey.null)
    }

    static func keyByteCount(in bytes: UnsafeRawBufferPointer) -> Int? { nil }

    // A file that came from the service before the type was declared.
    static func converted(_ value: RecordValue) -> RecordValue? {
        switch value {
        case .asset: value
        case .unknown(let unknown):
            if case .asset(let file)? = unknown.known {
                Asset(file).map { .asset($0) }
            } else {
                nil
            }
        default: nil
        }
    }

    static func isReadable(_ value: RecordValue) -> Bool { converted(value) != nil }

    static func violation(of content: Asset) -> String? { content.violation }

    static func serviceValue(_ content: Asset, isLossless: Bool) -> ServiceValue {
        .asset(ServiceAsset(fileChecksum: content.serviceChecksum, size: content.byteCount))
    }

    static func text(_ content: Asset) -> String {
        let name = content.fileName.map { "\($0), " } ?? ""
        let id = content.content ?? content.serviceChecksum ?? ""
        return "\(name)\(content.byteCount) bytes, \(id.prefix(16))"
    }

    static func appendJSON(_ content: Asset, to output: inout ByteBuffer) {
        output.append(utf8: "{\"byteCount\":\(content.byteCount)")
        let texts = [
            ("content", content.content), ("contentType", content.contentType),
            ("fileName", content.fileName), ("serviceChecksum", content.serviceChecksum),
        ]
        for case (let name, let text?) in texts {
            output.append(utf8: ",\"\(name)\":")
            output.append(jsonText: text)
        }
        output.append(UInt8(ascii: "}"))
    }

    static func content(json: JSONValue) throws(ValueError) -> Asset? {
        guard case .object(let members) = json else { return nil }
        var texts: [String: String] = [:]
        var byteCount: Int64?
        for member in members {
            switch member.value {
            case .string(let text): texts[member.name] = text
            case .number(let text) where member.name == "byteCount": byteCount = Int64(text)
            default: break
            }
        }
        let known = ["content", "serviceChecksum", "contentType", "fileName"]
        guard let byteCount, texts.keys.allSatisfy(known.contains),
            members.count == texts.count + 1
        else {
            throw ValueError(
                reason: "a file has the number byteCount, a content or a serviceChecksum, and may "
                    + "have a contentType and a fileName.")
        }
        let asset = Asset(
            content: texts["content"], serviceChecksum: texts["serviceChecksum"],
            byteCount: byteCount, contentType: texts["contentType"], fileName: texts["fileName"])
        if let violation = asset.violation { throw ValueError(reason: "\(violation).") }
        return asset
    }

    static func literal(_ text: String, isQuoted: Bool) -> RecordValue? { nil }

    static let literalExample = "null; files are compared with nothing else"
}

extension Asset {
    /// A file of the service; nil if the service did not tell a checksum.
    ///
    /// A checksum of 64 lower-case hexadecimal digits is the SHA-256 of the content, as hubs have it;
    /// Apple's are shorter and can't be computed here.
    package init?(_ file: ServiceAsset) {
        guard let checksum = file.fileChecksum, !checksum.isEmpty else { return nil }
        self.init(
            content: ContentHash.isDigits(checksum) ? checksum : nil, serviceChecksum: checksum,
            byteCount: max(0, file.size ?? 0))
        guard violation == nil else { return nil }
    }
}
