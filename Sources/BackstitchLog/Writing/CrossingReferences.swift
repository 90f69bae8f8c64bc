package import BackstitchCore

/// Refuses edits that refer to records of other zones: a service takes references within a zone alone.
struct CrossingReferences {
    private let log: LogWriter

    init(_ log: LogWriter) { self.log = log }

    /// Looks at the references that an edit writes.
    ///
    /// - Throws: `crossesZones`.
    func check(_ kind: OperationKind, _ entity: EntityNumber, _ key: RecordKey) throws {
        guard let table = log.catalog.table(entity),
            let found = try table.crossing(written(by: kind), from: key.zone).first
        else { return }
        throw StoreError(
            .crossesZones,
            "\(table.name).\(table.attributeName(found.field)) refers to the record "
                + "\(found.target.name) of \(name(of: found.target.zone)), and the service takes "
                + "references within a zone alone. Save both records in one zone, or declare the "
                + "attribute with .localOnly.")
    }

    /// The fields that an operation writes.
    private func written(by kind: OperationKind) throws -> Fields {
        var bytes = ByteBuffer()
        switch kind {
        case .insert: unsafe bytes.append(log.fields.body.bytes)
        case .update: log.fields.after.finish(into: &bytes)
        default: return Fields()
        }
        guard let packed = unsafe PackedFields(bytes.bytes) else { return Fields() }
        return try Fields(packed)
    }

    private func name(of slot: UInt8) -> String {
        if slot == 0 { return "the store's own zone" }
        guard let zone = log.catalog.catalog.zone(slot) else { return "a zone that is not there" }
        return "the zone \(zone.name)"
    }
}

extension EntityTable {
    /// The fields that are uploaded and refer to records of other zones than that of their record.
    package func crossing(
        _ fields: Fields, from zone: UInt8
    ) -> [(field: FieldID, target: RecordKey)] {
        fields.compactMap { field, value in
            guard !unsentFields.contains(field),
                let target = value.references.first(where: { $0.zone != zone })
            else { return nil }
            return (field, target)
        }
    }
}

extension RecordValue {
    fileprivate var references: [RecordKey] {
        switch self {
        case .reference(let key): [key]
        case .list(let elements): elements.flatMap(\.references)
        default: []
        }
    }
}
