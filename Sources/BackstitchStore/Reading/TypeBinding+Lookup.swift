public import BackstitchCore
public import BackstitchLog
import Threading

extension TypeBinding {
    /// Visits the records that fulfil a query's only test, if an index answers it alone: without the
    /// plan and the layers that other queries need.
    ///
    /// - Parameter learn: The position in the declaration of the attribute at a key path.
    /// - Returns: Whether it does; if not, nothing was visited.
    @usableFromInline
    func visit(
        _ test: PointTest, on reader: TableReader, limit: Int?, offset: Int,
        learn: (AnyKeyPath) -> Int?,
        _ visit: (_ key: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) throws -> Void
    ) throws -> Bool {
        // What is observed is told by a plan.
        guard reader.footprint == nil, let asked = forms.withLock({ $0.lookup(test, learn) })
        else { return false }
        let entity = try reader.entityBinding(number)
        guard let lookup = IndexLookup(asked, of: layout.fields[asked.position], in: entity, reader)
        else { return false }
        var (toSkip, toTake) = (offset, limit ?? .max)
        return try unsafe lookup.visit { key, body in
            if toSkip > 0 {
                toSkip -= 1
                return true
            }
            try unsafe visit(key, body)
            toTake -= 1
            return toTake > 0
        }
    }
}
