public import BackstitchCore
public import BackstitchLog

/// An answer that is fetched in pieces, on several threads, which decode as well.
@usableFromInline
struct FetchedParts {
    private let plan: QueryPlan
    @usableFromInline let reader: TableReader
    private let parts: [KeyRange]

    /// Nil if one thread fetches it.
    @usableFromInline
    init?(_ plan: QueryPlan, _ binding: TypeBinding, _ reader: TableReader) throws {
        // Whoever reads values from files may begin a read, which only a thread that has one already surely
        // gets while the map changes.
        guard plan.ordering == .asRead, binding.layout.external == nil else { return nil }
        parts = try plan.parts(on: reader)
        if parts.isEmpty { return nil }
        (self.plan, self.reader) = (plan, reader)
    }

    @usableFromInline var count: Int { parts.count }

    /// Fetches the records in order; nil if one thread has to.
    @inlinable
    func fetch<Model: Entity>(_ binding: TypeBinding) throws -> [Model]? {
        // One list for each piece, which one thread has at a time.
        let lists = UnsafeMutableBufferPointer<[Model]>.allocate(capacity: count)
        unsafe lists.initialize(repeating: [])
        defer {
            unsafe lists.deinitialize()
            unsafe lists.deallocate()
        }
        let ran = try unsafe visit { part, key, body in
            let id = unsafe EntityID<Model>(key: try RecordKey.stored(key))
            if let model = try unsafe binding.decodeIfReadable(body, id, reader) {
                unsafe lists[part].append(model)
            }
        }
        return unsafe ran ? Array(lists.joined()) : nil
    }

    /// Visits the records, several pieces at once.
    ///
    /// - Returns: Whether it did; if not, nothing was visited.
    @usableFromInline
    func visit(
        _ visit: (
            _ part: Int, _ key: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer
        ) throws -> Void
    ) throws -> Bool {
        try unsafe plan.visit(parts, on: reader, visit)
    }
}
