/// An attribute of a record that another one leads to by references.
package struct RelatedAttribute: Hashable, Sendable {
    /// A reference to follow, and the entity that it leads to.
    struct Hop: Hashable, Sendable {
        let reference: AttributeBinding
        let target: EntityBinding
    }

    let hops: [Hop]
    let attribute: AttributeBinding

    /// What a path of names leads to.
    ///
    /// - Throws: ``QueryError`` if a name is unknown, or if one before the last is not a reference.
    init(_ names: [String], in entity: EntityBinding) throws {
        var hops: [Hop] = []
        var at = entity
        for name in names.dropLast() {
            let target = try at.target(of: name)
            hops.append(Hop(reference: try at.attribute(named: name), target: target))
            at = target
        }
        attribute = try at.attribute(named: names.last ?? "")
        self.hops = hops
    }

    /// The path as a query names it.
    var text: String {
        (hops.map(\.reference.name) + [attribute.name]).joined(separator: ".")
    }

    /// Appends the ordered key of the attribute, which is that of null if a reference leads nowhere.
    func appendKey(of row: RowBytes, to output: inout ByteBuffer) throws {
        let start = output.count
        try appendKey(of: row, after: 0, to: &output)
        if output.count == start { output.append(OrderedKey.null) }
    }

    /// Appends the ordered key from a row on that some hops lead to, or nothing if the others lead nowhere.
    private func appendKey(
        of row: RowBytes, after followed: Int, to output: inout ByteBuffer
    ) throws {
        guard followed < hops.count else {
            return try attribute.appendKey(of: row.fields, to: &output, textBytesMax: .max)
        }
        guard let target = try unsafe row.value(of: hops[followed].reference.field)?.storedKey
        else {
            return
        }
        try unsafe row.requiredContext().withRow(of: hops[followed].target.number, key: target) {
            try appendKey(of: $0, after: followed + 1, to: &output)
        }
    }
}

extension QueryPlan.Step {
    /// A step with its names checked.
    ///
    /// - Throws: ``QueryError`` for unknown names and types without an order.
    init(_ sort: SortStep, in entity: EntityBinding) throws {
        isReversed = sort.isReversed
        guard let name = sort.attribute else {
            attribute = nil
            related = nil
            return
        }
        let names = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard names.count > 1 else {
            let own = try entity.attribute(named: name)
            try own.requireOrder(to: "sorts by", in: entity)
            attribute = own
            related = nil
            return
        }
        let path = try RelatedAttribute(names, in: entity)
        try path.attribute.requireOrder(to: "sorts by", in: entity)
        attribute = nil
        related = path
    }
}
