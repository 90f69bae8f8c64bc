public import BackstitchCore
import BackstitchLog

extension RecordConflict {
    /// The local version as its Swift type; nil if the record does not exist here.
    ///
    /// - Throws: `unknownEntity` if the record is of another type; `unreadable` if the values don't fit
    ///   the type.
    public func local<Model: Entity>(as type: Model.Type) throws -> Model? {
        try model(local, type)
    }

    /// The service's version as its Swift type; nil if the service does not have the record.
    ///
    /// - Throws: as ``local(as:)``.
    public func server<Model: Entity>(as type: Model.Type) throws -> Model? {
        try model(server, type)
    }

    /// The version that both sides started from, as its Swift type; nil if there was none.
    ///
    /// - Throws: as ``local(as:)``.
    public func base<Model: Entity>(as type: Model.Type) throws -> Model? {
        try model(base, type)
    }

    /// What both sides agreed on, as its Swift type; nil if the record ended, or nothing was decided.
    ///
    /// - Throws: as ``local(as:)``.
    public func outcome<Model: Entity>(as type: Model.Type) throws -> Model? {
        try model(outcome, type)
    }

    private func model<Model: Entity>(
        _ values: [String: RecordValue]?, _ type: Model.Type
    ) throws -> Model? {
        guard let id = EntityID<Model>(record) else {
            throw StoreError(
                .unknownEntity,
                "The conflict is of a \(record.entity) record and not of a \(Model.entityName). Ask "
                    + "for the type that the record has.")
        }
        do {
            return try values.map { try Model(id, values: $0) }
        } catch let error as FieldError {
            throw StoreError(
                .unreadable,
                "This version of \(record) can't be read as its Swift type: \(error).")
        }
    }
}
