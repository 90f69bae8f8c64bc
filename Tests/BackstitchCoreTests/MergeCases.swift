@testable import BackstitchCore

/// The sides of a merge, as the table of the design names them.
enum MergeCase {
    static let one = FieldID(1)
    static let two = FieldID(2)
    /// A field that no schema declares.
    static let unknown = FieldID(9)

    static let base: Fields = [
        one: .string("b1"), two: .string("b2"), unknown: .string("u"),
    ]
    static let baseVersion = ServerVersion(changeTag: "t1", modifiedMilliseconds: 100)
    static let newVersion = ServerVersion(changeTag: "t2", modifiedMilliseconds: 200)
    static let oldVersion = ServerVersion(changeTag: "t0", modifiedMilliseconds: 50)

    enum Local: CaseIterable {
        case none, updateOne, updateTwo, delete, recreate, create

        /// Two steps each where there are any, so that a prefix of them can have come through.
        var state: LocalState? {
            switch self {
            case .none:
                LocalState(fields: base, version: baseVersion, unsynced: [])
            case .updateOne: updated(one)
            case .updateTwo: updated(two)
            case .delete:
                LocalState(
                    fields: nil, version: baseVersion,
                    unsynced: [step(11, .delete(before: base))])
            case .recreate:
                LocalState(
                    fields: recreated, version: baseVersion,
                    unsynced: [
                        step(11, .delete(before: base)), step(12, .insert(recreated)),
                    ])
            case .create:
                LocalState(
                    fields: with(created, one, "l2"), version: nil,
                    unsynced: [
                        step(11, .insert(created)),
                        step(
                            12, .update(before: [one: .string("l1")], after: [one: .string("l2")])),
                    ])
            }
        }

        private func updated(_ field: FieldID) -> LocalState {
            LocalState(
                fields: with(base, field, "l2"), version: baseVersion,
                unsynced: [
                    step(
                        11,
                        .update(before: [field: base.value(field)], after: [field: .string("l1")])),
                    step(
                        12, .update(before: [field: .string("l1")], after: [field: .string("l2")])),
                ])
        }
    }

    enum Server: CaseIterable {
        case sameTag, sameContent, ownWrite, ownPrefix, editOne, editTwo, gone, older

        /// What the service holds; nil where the case makes no sense for the local side.
        func state(_ local: Local) -> ServerState? {
            switch self {
            case .sameTag: local == .create ? nil : present(baseVersion, base)
            case .sameContent: local == .create ? nil : present(newVersion, base)
            case .ownWrite: ownWrite(local)
            case .ownPrefix: ownPrefix(local)
            case .editOne: present(newVersion, edited(one))
            case .editTwo: present(newVersion, edited(two))
            case .gone: .absent
            case .older: local == .create ? nil : present(oldVersion, edited(one))
            }
        }

        private func ownWrite(_ local: Local) -> ServerState? {
            switch local {
            case .none: nil
            case .delete: .absent
            case .updateOne, .updateTwo, .recreate, .create:
                local.state?.fields.map { present(newVersion, $0) }
            }
        }

        private func ownPrefix(_ local: Local) -> ServerState? {
            switch local {
            case .none, .delete: nil
            case .updateOne: present(newVersion, with(base, one, "l1"))
            case .updateTwo: present(newVersion, with(base, two, "l1"))
            case .recreate: .absent
            case .create: present(newVersion, created)
            }
        }

        private func edited(_ field: FieldID) -> Fields {
            with(with(base, field, "s"), unknown, "u2")
        }
    }

    static let recreated: Fields = [one: .string("r")]
    static let created: Fields = [one: .string("l1")]

    static func present(_ version: ServerVersion, _ fields: Fields) -> ServerState {
        .present(stamp: version, fields: fields, requested: nil)
    }

    static func with(_ fields: Fields, _ field: FieldID, _ text: String) -> Fields {
        var fields = fields
        fields[field] = .string(text)
        return fields
    }

    static func step(_ sequence: UInt64, _ change: OperationStep.Change) -> OperationStep {
        OperationStep(sequence: sequence, change: change)
    }
}

extension ServerState {
    var fields: Fields? {
        if case .present(_, let fields, _) = self { fields } else { nil }
    }
    var version: ServerVersion? {
        if case .present(let version, _, _) = self { version } else { nil }
    }
}

extension MergePlan {
    /// What a device knows after the plan was carried out.
    func applied(to local: LocalState) -> LocalState {
        var state = local
        var next = (local.unsynced.last?.sequence ?? 0) + 1
        switch remote {
        case .nothing: break
        case .acknowledge(let version, let through):
            state.version = version
            state.unsynced.removeAll { $0.sequence <= through }
        case .adopt(let version, let fields, _):
            state = LocalState(fields: fields, version: version, unsynced: [])
            next += 1
        }
        switch rebase {
        case .nothing: break
        case .save(let fields):
            let change: OperationStep.Change
            if let before = state.fields {
                var old = Fields()
                var new = Fields()
                for field in fields.differences(from: before) {
                    old[field] = before.value(field)
                    new[field] = fields.value(field)
                }
                change = .update(before: old, after: new)
            } else {
                change = .insert(fields)
            }
            state.unsynced.append(MergeCase.step(next, change))
            state.fields = fields
        case .delete:
            if let before = state.fields {
                state.unsynced.append(MergeCase.step(next, .delete(before: before)))
            }
            state.fields = nil
        }
        return state
    }
}
