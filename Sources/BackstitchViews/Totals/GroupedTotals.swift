public import BackstitchCore
import BackstitchLog
public import BackstitchStore
import XXHash

/// Running totals: of the records of an entity in groups, their number, the exact sum and the mean of
/// a number, and if wanted the least and the greatest.
///
/// ```swift
/// let pay = GroupedTotals("pay", of: Employee.self, by: \.department, sum: \.salary)
/// let store = try Store(
///     at: directory, schema: schema, configuration: StoreConfiguration(projections: [pay]))
/// let engines = try store.read { try $0.view(of: pay).totals(of: department.id)?.sum }
/// ```
///
/// A read costs microseconds however many records there are. A change of a record costs one entry for
/// each group that it is in or leaves. Group and number may be any function of the record; nil is a
/// group too, and takes no part in sums. Sums of integers, decimals and doubles are exact: doubles
/// are rounded once, when they are read. Records that don't fit the Swift type are left out.
///
/// Texts as groups differ by all their bytes; they sort by the first 200.
public struct GroupedTotals<Model: Entity, Group: AttributeValue, Number: SummableValue>:
    RecordProjection
{
    /// The name of the view in the store.
    public let name: String
    /// The version; change it if group or number change their meaning.
    public let version: Int
    /// Whether the view is updated within each write, or catches up afterwards.
    public let mode: ProjectionMode
    /// The model's entity.
    public var entities: ProjectedEntities { .of(Model.self) }
    /// Whether the least and the greatest number are known too.
    public let keepsExtremes: Bool

    private let group: @Sendable (Model) -> Group
    private let number: @Sendable (Model) -> Number

    /// Totals of a number in groups.
    ///
    /// - Parameters:
    ///   - group: What the records of a group have in common; a key path, or any function of the record.
    ///   - number: What is summed up; a key path, or any function of the record.
    ///   - keepsExtremes: Whether the least and the greatest are known too, which costs an entry for
    ///     each record.
    public init(
        _ name: String, of type: Model.Type = Model.self,
        by group: @escaping @Sendable (Model) -> Group,
        sum number: @escaping @Sendable (Model) -> Number, keepsExtremes: Bool = false,
        version: Int = 0, mode: ProjectionMode = .inline
    ) {
        self.name = name
        self.version = version
        self.mode = mode
        self.keepsExtremes = keepsExtremes
        self.group = group
        self.number = number
    }

    /// The numbers of records in groups.
    public init(
        counting name: String, of type: Model.Type = Model.self,
        by group: @escaping @Sendable (Model) -> Group, version: Int = 0,
        mode: ProjectionMode = .inline
    ) where Number == Int? {
        self.init(
            name, of: type, by: group, sum: { _ in nil }, version: version, mode: mode)
    }

    /// Moves the record from its group before to the one after.
    public func apply(
        _ change: borrowing ProjectedChange, to view: borrowing ViewEditor
    ) throws {
        let before = try change.before(Model.self).map { try part(of: $0) }
        let after = try change.after(Model.self).map { try part(of: $0) }
        guard before != after else { return }
        if let before, before.key != after?.key {
            try adjust(before, removing: before.number, adding: nil, in: view)
        }
        if let after {
            let isSame = before?.key == after.key
            try adjust(
                after, removing: isSame ? before?.number : nil, adding: after.number, in: view)
        }
        guard keepsExtremes else { return }
        if let before, before.number != .null {
            try view.delete(Self.extreme(before.key, before.number, change.key))
        }
        if let after, after.number != .null {
            try view.put(
                Self.packed([after.number]),
                for: Self.extreme(after.key, after.number, change.key))
        }
    }

    /// What a record is in the totals.
    private struct Part: Equatable {
        let key: [UInt8]
        let group: RecordValue
        let number: RecordValue
    }

    private func part(of model: Model) throws -> Part {
        let value = group(model)._recordValue
        return Part(key: try Self.key(of: value), group: value, number: number(model)._recordValue)
    }

    /// - Parameters:
    ///   - old: The number of a record that leaves; nil if none does.
    ///   - new: The number of a record that comes; nil if none does.
    private func adjust(
        _ part: Part, removing old: RecordValue?, adding new: RecordValue?,
        in view: borrowing ViewEditor
    ) throws {
        let key = Self.entry(part.key)
        var totals =
            try view.value(for: key).map { try StoredTotals($0, of: Number._attributeType) }
            ?? StoredTotals(group: part.group, of: Number._attributeType)
        if let old { try totals.take(old) }
        if let new { try totals.add(new) }
        if totals.count == 0 {
            try view.delete(key)
        } else {
            try view.put(try totals.packed(), for: key)
        }
    }
}

// MARK: - Keys

extension GroupedTotals {
    private static var totalsByte: UInt8 { 1 }
    private static var extremesByte: UInt8 { 2 }

    /// The bytes by which a group is known.
    static func key(of group: RecordValue) throws -> [UInt8] {
        guard group == .null || group.orderedType.isOrdered else {
            throw StoreError(
                .invalidProjection,
                "Records can't be grouped by a place or a list. Group by a part of it.")
        }
        var key = ViewKey(group).bytes
        let isCut = unsafe key.withUnsafeBytes {
            unsafe OrderedKey.isCut($0, type: group.orderedType)
        }
        guard isCut else { return key }
        // Two hashes of the whole stand for what was cut off.
        var whole = ByteBuffer()
        OrderedKey.append(group, type: group.orderedType, to: &whole, textBytesMax: .max)
        for seed in [0, 1] as [UInt64] {
            let hash = unsafe Checksum.xxh64(whole.bytes, seed: seed)
            key += hash.bigEndianBytes
        }
        return key
    }

    /// The key of a group's totals.
    static func entry(_ group: [UInt8]) -> ViewKey { ViewKey(bytes: [totalsByte] + group) }

    /// What the keys of all totals begin with.
    static var entries: ViewKey { ViewKey(bytes: [totalsByte]) }

    /// What the keys of the numbers of a group begin with.
    static func extremes(_ group: [UInt8]) -> ViewKey { ViewKey(bytes: [extremesByte] + group) }

    /// The key of a record's number.
    private static func extreme(_ group: [UInt8], _ number: RecordValue, _ record: RecordKey)
        -> ViewKey
    {
        var key = extremes(group)
        key.append(number)
        key.append(bytes: record.bytes)
        return key
    }

    /// Packed fields 1, 2 and so on with some values.
    static func packed(_ values: [RecordValue]) throws -> [UInt8] {
        try StoredTotals.packed(values)
    }
}
