package import BackstitchCore

/// The body of `records/modify` as a client sends it.
package struct RecordModifications: WireRequest {
    package var modifications: [RecordModification]
    package var zoneID: WireZoneID
    package var isAtomic: Bool
    package var options: RecordOptions
    package var syncToken: String?

    package init(
        _ modifications: [RecordModification], zoneID: WireZoneID, isAtomic: Bool,
        options: RecordOptions, syncToken: String?
    ) {
        self.modifications = modifications
        self.zoneID = zoneID
        self.isAtomic = isAtomic
        self.options = options
        self.syncToken = syncToken
    }

    package func write(to json: inout JSONWriter) {
        json.member("operations", array: modifications) { json, modification in
            json.object { modification.write(to: &$0) }
        }
        json.member("zoneID", zoneID)
        json.member("atomic", flag: isAtomic)
        json.member("syncToken", syncToken)
        options.write(to: &json)
    }
}

extension RecordModification: WireRequest {
    package func write(to json: inout JSONWriter) {
        switch self {
        case .create(let name, let type, let fields):
            write(WireRecordOperation.Kind.create, name, type, nil, fields, to: &json)
        case .update(let name, let type, let tag, let fields):
            write(WireRecordOperation.Kind.update, name, type, tag, fields, to: &json)
        case .delete(let name, let tag):
            write(WireRecordOperation.Kind.delete, name, nil, tag, [:], to: &json)
        }
    }

    private func write(
        _ kind: WireRecordOperation.Kind, _ name: String, _ type: String?, _ tag: String?,
        _ fields: NamedFields, to json: inout JSONWriter
    ) {
        json.member("operationType", kind.rawValue)
        json.object("record") { json in
            json.member("recordName", name)
            json.member("recordType", type)
            json.member("recordChangeTag", tag)
            if !fields.isEmpty { json.object("fields") { fields.write(to: &$0) } }
        }
    }
}
