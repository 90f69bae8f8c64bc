import BackstitchCore
import BackstitchLog
import BackstitchStore

/// The totals of a group as they are stored: packed fields.
///
/// | field | value |
/// |---|---|
/// | 1 | the group; none for nil |
/// | 2 | the number of records |
/// | 3 | how many of them have a number |
/// | 4 | the sum, as `RunningSum` stores it |
struct StoredTotals: Equatable {
    let group: RecordValue
    private(set) var count: Int64 = 0
    private(set) var numbers: Int64 = 0
    private(set) var sum: RunningSum

    /// The totals of no records.
    init(group: RecordValue, of type: AttributeType) {
        self.group = group
        sum = RunningSum(of: type)
    }

    mutating func add(_ number: RecordValue) throws {
        count += 1
        if number != .null { numbers += 1 }
        try sum.change(by: number, isAdded: true)
    }

    mutating func take(_ number: RecordValue) throws {
        count -= 1
        if number != .null { numbers -= 1 }
        try sum.change(by: number, isAdded: false)
    }

    func packed() throws -> [UInt8] {
        try Self.packed([group, .int64(count), .int64(numbers), sum.stored])
    }

    /// Reads the stored form.
    ///
    /// - Throws: `damaged` if the bytes are other totals.
    init(_ bytes: [UInt8], of type: AttributeType) throws {
        let values = try Self.values(in: bytes, count: 4)
        guard case .int64(let count) = values[1], case .int64(let numbers) = values[2],
            let sum = RunningSum(values[3], of: type)
        else {
            throw StoreError(
                .damaged, "The totals of a group can't be read. Rebuild the projection.")
        }
        group = values[0]
        self.count = count
        self.numbers = numbers
        self.sum = sum
    }

    /// Packed fields 1, 2 and so on with some values.
    static func packed(_ values: [RecordValue]) throws -> [UInt8] {
        var writer = _FieldWriter()
        for (index, value) in values.enumerated() {
            try writer.write(value, of: FieldID(UInt16(index + 1)))
        }
        var buffer = ByteBuffer()
        writer.finish(into: &buffer)
        return unsafe [UInt8](buffer.bytes)
    }

    /// The values of packed fields 1, 2 and so on.
    static func values(in bytes: [UInt8], count: Int) throws -> [RecordValue] {
        try unsafe bytes.withUnsafeBytes { bytes in
            guard let fields = unsafe PackedFields(bytes) else { throw FieldError(.damaged) }
            return try (1...count).map { field in
                try fields.value(of: FieldID(UInt16(field)))?.decoded() ?? .null
            }
        }
    }
}
