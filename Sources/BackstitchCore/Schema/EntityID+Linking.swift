import XXHash

extension EntityID where Model: Entity {
    /// The id of the record that links two others. It is always the same for the same two records:
    /// if two devices add a link at the same time, they make one record, and a later delete finds
    /// it.
    ///
    /// A many-to-many relationship is an entity with a reference to each side:
    ///
    /// ```swift
    /// try transaction.save(Membership(id: .init(linking: ada.id, to: team.id), …))
    /// try transaction.delete(Membership.ID(linking: ada.id, to: team.id))
    /// ```
    ///
    /// The name holds the entity's name and those of both ends, in their order; if that is too long
    /// for a record name, a hash of 128 bits replaces the names of the ends.
    public init<From: Entity, To: Entity>(linking from: EntityID<From>, to: EntityID<To>) {
        let first = from.key.name.description
        let ends = "\(first.utf8.count)-\(first)-\(to.key.name)"
        let name = "\(Model.entityName)-\(ends)"
        guard name.utf8.count > RecordName.byteCountMax else {
            self.init(key: RecordKey(RecordName(name), zone: from.key.zone))
            return
        }
        let hash = [UInt64(0), 1].map { seed in
            let digits = String(Checksum.xxh64(name, seed: seed), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
        let prefix = String(Model.entityName.prefix(RecordName.byteCountMax - 33))
        self.init(key: RecordKey(RecordName("\(prefix)-\(hash)"), zone: from.key.zone))
    }
}
