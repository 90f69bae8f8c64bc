package import BackstitchCore

/// The fields of the record that is being written, and how they differ from its row.
///
/// One record after another uses the same buffers.
package struct FieldChanges: ~Copyable {
    /// Takes the fields that the record gets.
    package var writer = _FieldWriter()
    /// The packed fields.
    private(set) var body = ByteBuffer(capacity: 1024)
    /// The changed fields as the row has them.
    package var before = _FieldWriter()
    /// The changed fields as the record gets them.
    package var after = _FieldWriter()

    init() {}

    /// Packs the fields that the writer took.
    package mutating func pack() {
        body.removeAll()
        writer.finish(into: &body)
    }

    /// Begins with no changed fields, for changes that the writer does not take.
    package mutating func reset() {
        forgetChanges()
        writer.hasCrossed = false
    }

    private mutating func forgetChanges() {
        before.reset()
        after.reset()
    }

    /// Finds the fields in which the packed ones differ from a row.
    ///
    /// - Parameter layout: Fields of the row outside of it are kept; nil keeps none.
    /// - Returns: whether there are any.
    package mutating func compare(_ row: RowView, keepingAllBut layout: FieldLayout?) throws -> Bool
    {
        guard let old = row.fields, let new = unsafe PackedFields(body.bytes) else {
            throw StoreError(.damaged, "A row can't be read. Run rebuild to make the tables anew.")
        }
        if unsafe old.bytes.holdsSameBytes(as: new.bytes) { return false }
        guard old.isAscending, new.isAscending else { throw FieldError(.damaged) }
        forgetChanges()
        var oldPosition = 0
        var newPosition = 0
        while oldPosition < old.count || newPosition < new.count {
            let oldField = unsafe oldPosition < old.count ? old.field(at: oldPosition) : nil
            let newField = unsafe newPosition < new.count ? new.field(at: newPosition) : nil
            if let newField, oldField.map({ newField < $0 }) ?? true {
                try before.write(.null, of: newField, keepsNull: true)
                try unsafe after.write(raw: try new.rawValue(at: newPosition), of: newField)
                newPosition += 1
            } else if let oldField, newField.map({ oldField < $0 }) ?? true {
                if layout?.fields.contains(oldField) ?? true {
                    try unsafe before.write(raw: try old.rawValue(at: oldPosition), of: oldField)
                    try after.write(.null, of: oldField, keepsNull: true)
                }
                oldPosition += 1
            } else if let field = oldField {
                let was = try unsafe old.rawValue(at: oldPosition)
                let becomes = try unsafe new.rawValue(at: newPosition)
                if unsafe !was.holdsSameBytes(as: becomes) {
                    try unsafe before.write(raw: was, of: field)
                    try unsafe after.write(raw: becomes, of: field)
                }
                oldPosition += 1
                newPosition += 1
            }
        }
        return !after.isEmpty
    }

    /// Appends the payload of an update: both sides of the changed fields.
    mutating func appendUpdate(to output: inout ByteBuffer) {
        let at = output.count
        output.append(little: UInt32(0))
        before.finish(into: &output)
        output.store(little: UInt32(output.count - at - 4), at: at)
        after.finish(into: &output)
    }
}
