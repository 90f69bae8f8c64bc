extension QueryExecutor {
    /// Visits the matches of an index in order, sorting those whose index value is the same.
    ///
    /// They have to be sorted if there are more steps, if the index is read backwards and so
    /// gives them with descending record keys, or if the value was cut. A group is kept in
    /// memory up to what offset and limit ask for.
    static func grouped<Source: RowSource & ~Copyable>(
        _ plan: QueryPlan, _ context: RowContext?, on source: borrowing Source, needsBody: Bool,
        _ visit: (UnsafeRawBufferPointer, UnsafeRawBufferPointer?) throws -> Bool
    ) throws {
        guard case .index(let attribute, _, let isReversed) = plan.access else {
            preconditionFailure("Only an index gives groups.")
        }
        let alwaysSorts =
            isReversed || plan.steps.count > 1 || plan.position != nil || !attribute.endsIndex
        let textBytesMax = attribute.place?.textBytesMax ?? OrderedKey.textBytesMax
        var buffer = SortBuffer(countMax: plan.stop)
        var value = ByteBuffer(capacity: OrderedKey.byteCountMax)
        var isStarted = false
        var goesOn = true
        try unsafe matches(plan, on: source, needsBody: needsBody && !alwaysSorts) {
            found, key, body in
            if isStarted, unsafe found.order(value.bytes) != 0 {
                goesOn = try unsafe buffer.visitSorted { try unsafe visit($0, nil) }
                isStarted = false
                if !goesOn { return false }
            }
            let isCut = unsafe OrderedKey.isCut(
                found, type: attribute.type, textBytesMax: textBytesMax)
            guard alwaysSorts || isCut else {
                goesOn = try unsafe visit(key, body)
                return goesOn
            }
            if !isStarted {
                isStarted = true
                value.removeAll()
                unsafe value.append(found)
                unsafe buffer.reset(
                    countMax: plan.stop,
                    after: plan.position?.start(in: found, of: attribute, isCut: isCut))
            }
            let steps = isCut ? plan.steps[...] : plan.steps.dropFirst()
            let leading = steps.first?.leading
            if let body = unsafe body {
                try unsafe buffer.add(
                    key: key, steps: steps, leading: leading, fields: fields(body), context)
            } else if steps.isEmpty {
                try unsafe buffer.add(key: key, steps: steps, leading: nil, fields: nil, context)
            } else {
                _ = try unsafe source.withRow(of: plan.entity.number, key: key) { body in
                    try unsafe buffer.add(
                        key: key, steps: steps, leading: leading, fields: fields(body), context)
                    return true
                }
            }
            return true
        }
        if goesOn, isStarted { _ = try unsafe buffer.visitSorted { try unsafe visit($0, nil) } }
    }
}

extension QueryPosition {
    /// The last bytes that are left out of the group of an index value; nil if none are.
    fileprivate func start(
        in value: UnsafeRawBufferPointer, of attribute: AttributeBinding, isCut: Bool
    ) -> [UInt8]? {
        let own = indexValue(in: attribute)
        guard unsafe value.order(own) == 0 else { return nil }
        return isCut ? ordered : orderedAfterFirst
    }
}
