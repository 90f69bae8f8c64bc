/// What taking over a schema asks of the records that a store has.
package protocol StoredRecords {
    /// Whether an entity has no records.
    func isEmpty(_ entity: EntityNumber) throws -> Bool
    /// Whether an entity has records that could be read, and that have no value of a field.
    func hasRecord(of entity: EntityNumber, without field: FieldID) throws -> Bool
    /// The records whose value of a field is not a case of an attribute's enum, up to a number.
    func records(
        of entity: EntityNumber, _ field: FieldID, forbiddenBy schema: AttributeSchema, limit: Int
    ) throws -> [RecordKey]
}
