/// In what order records are pushed, so that references never point to what is not there yet.
package enum PushOrder {
    /// Orders items: creates with their targets first, then updates, then deletes in the order in
    /// which they happened, in which referrers come before what they refer to.
    ///
    /// If creates require each other in a circle, one of them is created without the reference
    /// that closes it.
    /// - Returns: positions in `items`, and the items with their deferred fields.
    package static func arrange(_ items: [PushItem]) -> (order: [Int], items: [PushItem]) {
        var items = items
        var positions: [String: Int] = [:]
        for (index, item) in items.enumerated() where item.isCreate {
            positions[item.modification.recordName] = index
        }
        enum Mark { case unseen, open, done }
        var marks = [Mark](repeating: .unseen, count: items.count)
        var order: [Int] = []
        order.reserveCapacity(items.count)
        // Depth first with an explicit stack: a chain of references may be longer than a thread's.
        for start in items.indices where items[start].isCreate && marks[start] == .unseen {
            var stack = [(index: start, pending: Array(items[start].requiredFields.keys).sorted())]
            marks[start] = .open
            while var top = stack.popLast() {
                guard let field = top.pending.popLast() else {
                    marks[top.index] = .done
                    order.append(top.index)
                    continue
                }
                let index = top.index
                stack.append(top)
                guard let name = items[index].requiredFields[field],
                    let target = positions[name]
                else { continue }
                switch marks[target] {
                case .done: break
                case .open: items[index].deferredFields.insert(field)
                case .unseen:
                    marks[target] = .open
                    stack.append((target, Array(items[target].requiredFields.keys).sorted()))
                }
            }
        }
        order += items.indices.filter { !items[$0].isCreate && !items[$0].isDelete }
        order += items.indices.filter { items[$0].isDelete }
        return (order, items)
    }
}
