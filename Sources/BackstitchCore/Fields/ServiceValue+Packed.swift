import Foundation

/// Values as ``NamedFields`` pack them: a tag and a payload.
///
/// Text, numbers, times and bytes are as in a row. A list begins with the tag of its elements, or 255 if it is not
/// known, and each element follows as a little-endian 32-bit byte count, tag and payload. A value of an unknown
/// type has two texts, a file five and its size, a reference its action and five, a place a byte that says which
/// numbers follow. A text that may be absent has 2³² − 1 for its byte count if it is.
extension ServiceValue {
    /// The element tag of a list whose type is not known.
    private static let noTag: UInt8 = 255

    /// Appends the tag and the payload.
    package func append(packedTo buffer: inout ByteBuffer) {
        buffer.append(tag.rawValue)
        switch self {
        case .null: break
        case .string(let text): buffer.append(utf8: text)
        case .int64(let number), .timestamp(let number): buffer.append(little: number)
        case .double(let number): buffer.append(little: number.bitPattern)
        case .bytes(let data): unsafe data.withUnsafeBytes { unsafe buffer.append($0) }
        case .reference(let reference): reference.append(packedTo: &buffer)
        case .asset(let asset): asset.append(packedTo: &buffer)
        case .location(let location): location.append(packedTo: &buffer)
        case .list(let elements, let type):
            buffer.append(type?.tag.rawValue ?? Self.noTag)
            for element in elements {
                let start = buffer.count
                buffer.append(little: UInt32(0))
                element.append(packedTo: &buffer)
                buffer.store(little: UInt32(buffer.count - start - 4), at: start)
            }
        case .unknown(let value):
            buffer.append(packed: value.typeName)
            buffer.append(packed: value.json)
        }
    }

    /// The tag that a row has for such a value.
    private var tag: FieldTag {
        switch self {
        case .null: .null
        case .list: .list
        case .unknown: .unknown
        default: scalarType?.tag ?? .null
        }
    }

    /// Reads a value as it was packed.
    package init(packed bytes: UnsafeRawBufferPointer) {
        var reader = unsafe PackedReader(bytes.part(1..<bytes.count))
        switch unsafe FieldTag(rawValue: bytes[0]) {
        case .string: self = .string(reader.rest())
        case .int64: self = .int64(reader.number())
        case .double: self = .double(Double(bitPattern: reader.number()))
        case .date: self = .timestamp(milliseconds: reader.number())
        case .bytes: self = .bytes(unsafe Data(bytes.part(1..<bytes.count)))
        case .reference: self = .reference(ServiceReference(packed: &reader))
        case .asset: self = .asset(ServiceAsset(packed: &reader))
        case .location: self = .location(ServiceLocation(packed: &reader))
        case .list:
            let type = ServiceFieldType(tag: reader.number())
            var elements: [ServiceValue] = []
            while let part = unsafe reader.part() {
                elements.append(unsafe ServiceValue(packed: part))
            }
            self = .list(elements, of: type)
        case .unknown:
            let name = reader.text() ?? ""
            self = .unknown(UnknownValue(typeName: name, json: reader.text() ?? ""))
        default: self = .null
        }
    }
}

extension ServiceFieldType {
    /// The tag that a row has for such a value.
    package var tag: FieldTag {
        switch self {
        case .string: .string
        case .int64: .int64
        case .double: .double
        case .timestamp: .date
        case .bytes: .bytes
        case .reference: .reference
        case .asset: .asset
        case .location: .location
        }
    }

    /// The type with a tag; nil if none has it.
    package init?(tag: UInt8) {
        guard let type = Self.allCases.first(where: { $0.tag.rawValue == tag }) else { return nil }
        self = type
    }
}

/// Reads the parts of a payload one after another.
@safe
private struct PackedReader {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }

    mutating func number<Number: FixedWidthInteger & BitwiseCopyable>() -> Number {
        defer { offset += MemoryLayout<Number>.size }
        return unsafe bytes.little(Number.self, at: offset)
    }

    mutating func double() -> Double { Double(bitPattern: number()) }

    /// The bytes that are left, as text.
    func rest() -> String { unsafe String(stored: bytes.part(offset..<bytes.count)) }

    /// A byte count and as many bytes; nil at the end.
    mutating func part() -> UnsafeRawBufferPointer? {
        guard unsafe offset < bytes.count else { return nil }
        let count: UInt32 = number()
        defer { offset += Int(count) }
        return unsafe bytes.part(offset..<(offset + Int(count)))
    }

    /// A text; nil if it is absent.
    mutating func text() -> String? {
        let count: UInt32 = number()
        guard count != .max else { return nil }
        defer { offset += Int(count) }
        return unsafe String(stored: bytes.part(offset..<(offset + Int(count))))
    }
}

extension ByteBuffer {
    fileprivate mutating func append(packed text: String?) {
        guard let text else { return append(little: UInt32.max) }
        append(little: UInt32(text.utf8.count))
        append(utf8: text)
    }
}

extension ServiceReference {
    fileprivate func append(packedTo buffer: inout ByteBuffer) {
        let (kind, name): (UInt8, String?) =
            switch action {
            case .none: (0, nil)
            case .deleteSelf: (1, nil)
            case .validate: (2, nil)
            case .unspecified: (3, nil)
            case .other(let name): (4, name)
            }
        buffer.append(kind)
        for text in [recordName, name, zone?.zoneName, zone?.ownerName, zoneType] {
            buffer.append(packed: text)
        }
    }

    fileprivate init(packed reader: inout PackedReader) {
        let kind: UInt8 = reader.number()
        let (recordName, name) = (reader.text() ?? "", reader.text() ?? "")
        let (zone, owner) = (reader.text(), reader.text())
        let action: Action =
            switch kind {
            case 0: .none
            case 1: .deleteSelf
            case 2: .validate
            case 3: .unspecified
            default: .other(name)
            }
        self.init(
            recordName: recordName, action: action,
            zone: zone.map { ZoneID($0, ownerName: owner) })
        zoneType = reader.text()
    }
}

extension ServiceAsset {
    fileprivate func append(packedTo buffer: inout ByteBuffer) {
        for text in [fileChecksum, referenceChecksum, wrappingKey, receipt, downloadURL] {
            buffer.append(packed: text)
        }
        buffer.append(UInt8(size == nil ? 0 : 1))
        buffer.append(little: size ?? 0)
    }

    fileprivate init(packed reader: inout PackedReader) {
        self.init(
            fileChecksum: reader.text(), referenceChecksum: reader.text(),
            wrappingKey: reader.text(), receipt: reader.text(), downloadURL: reader.text())
        let hasSize: UInt8 = reader.number()
        let number: Int64 = reader.number()
        size = hasSize == 1 ? number : nil
    }
}

extension ServiceLocation {
    /// The numbers that may be absent, in the order in which they are packed.
    private var measured: [Double?] {
        get { [horizontalAccuracy, verticalAccuracy, altitude, speed, course] }
        set {
            (horizontalAccuracy, verticalAccuracy) = (newValue[0], newValue[1])
            (altitude, speed, course) = (newValue[2], newValue[3], newValue[4])
        }
    }

    fileprivate func append(packedTo buffer: inout ByteBuffer) {
        var marks: UInt8 = timestamp == nil ? 0 : 0x80
        for (bit, number) in measured.enumerated() where number != nil {
            marks |= 1 << UInt8(bit)
        }
        buffer.append(marks)
        for number in [latitude, longitude] + measured.compactMap(\.self) {
            buffer.append(little: number.bitPattern)
        }
        if let timestamp { buffer.append(little: timestamp) }
    }

    fileprivate init(packed reader: inout PackedReader) {
        let marks: UInt8 = reader.number()
        self.init(latitude: reader.double(), longitude: reader.double())
        measured = (0..<5).map { marks & 1 << UInt8($0) != 0 ? reader.double() : nil }
        if marks & 0x80 != 0 { timestamp = reader.number() }
    }
}
