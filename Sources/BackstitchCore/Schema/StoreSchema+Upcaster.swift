extension StoreSchema {
    /// How values of an attribute's old type become values of its new one.
    ///
    /// The schema carries it as long as stores may exist that still have the old type. The store applies
    /// it to each record when it takes over the schema, as an edit that is pushed like any other.
    public struct Upcaster: Sendable {
        /// The entity's name.
        public let entity: String
        /// The attribute's name.
        public let attribute: String
        /// Returns the new value for an old one; null or nil for no value. It must always return the
        /// same.
        public let convert: @Sendable (RecordValue) -> RecordValue?

        /// An upcaster by names.
        public init(
            entity: String, attribute: String,
            convert: @escaping @Sendable (RecordValue) -> RecordValue?
        ) {
            self.entity = entity
            self.attribute = attribute
            self.convert = convert
        }

        /// An upcaster of the attribute at a key path; one that is not stored fits no attribute.
        public init<Model: Entity, Attribute>(
            _ attribute: KeyPath<Model, Attribute>,
            convert: @escaping @Sendable (RecordValue) -> RecordValue?
        ) {
            let name = Model.attributeIndexes[attribute].map {
                Model.entitySchema.attributes[$0].name
            }
            self.init(entity: Model.entityName, attribute: name ?? "", convert: convert)
        }
    }
}
