import BackstitchCore
import BackstitchTesting
import Foundation

/// What another client does on the service, with another version of the application.
struct ForeignEdit: Sendable {
    enum Change: Sendable {
        case write(type: String, fields: NamedFields)
        case remove
    }

    let recordName: String
    private(set) var change: Change

    /// A write of the very record that a request in flight is about to change.
    init(against modification: RecordModification, _ generator: inout SeededGenerator) {
        recordName = modification.recordName
        switch modification {
        case .create(_, let type, let fields), .update(_, let type, _, let fields):
            let isRemoved = generator.chance(0.15)
            let kept: NamedFields = fields.filter { entry in
                switch entry.value {
                // Another client has uploaded no file.
                case .reference, .asset, .list(_, of: .asset): false
                default: true
                }
            }
            var written: NamedFields = ["mood": .string(generator.text())]
            // Now and then it writes what the device writes, all of it or a part.
            if generator.chance(0.4) { written = kept }
            change = isRemoved ? .remove : .write(type: type, fields: written)
        case .delete:
            change = .remove
        }
    }

    init(_ pool: RecordPool, _ generator: inout SeededGenerator) {
        if generator.chance(0.1) {
            // A record type that this version does not know.
            recordName = "robot-\(generator.below(4))"
            change =
                generator.chance(0.2)
                ? .remove
                : .write(
                    type: "Robot",
                    fields: [
                        "model": .string(generator.text()),
                        "parts": .list([.int64(1), .int64(generator.number())]),
                    ])
            return
        }
        let kind = generator.pick(pool.kinds)
        recordName = pool.name(kind, &generator)
        if generator.chance(0.15) {
            change = .remove
            return
        }
        var fields: NamedFields = [:]
        if generator.chance(0.3) { fields["mood"] = .string(generator.text()) }
        if generator.chance(0.1) { fields["mood"] = .null }
        switch kind {
        case .folder:
            fields["name"] = .string(generator.text())
            change = .write(type: "SimulatedFolder", fields: fields)
        case .tag:
            fields["label"] = .string(generator.text())
            change = .write(type: "SimulatedTag", fields: fields)
        case .pair:
            fields["label"] = .string(generator.text())
            if generator.chance(0.2) { fields["partner"] = .null }
            change = .write(type: "SimulatedPair", fields: fields)
        case .badge:
            fields["code"] = .string(generator.code())
            if generator.chance(0.3) { fields["color"] = .string(generator.text()) }
            if generator.chance(0.3) { fields["rank"] = .int64(generator.number()) }
            change = .write(type: "SimulatedBadge", fields: fields)
        case .holder, .seat:
            fields["label"] = .string(generator.text())
            if generator.chance(0.6) {
                let badge = ServiceReference(
                    recordName: pool.name(.badge, &generator),
                    action: kind == .holder ? .deleteSelf : .none)
                fields["badge"] = .reference(badge)
            }
            let type = kind == .holder ? "SimulatedHolder" : "SimulatedSeat"
            change = .write(type: type, fields: fields)
        case .photo:
            fields["title"] = .string(generator.text())
            if generator.chance(0.2) { fields["image"] = .null }
            change = .write(type: "SimulatedPhoto", fields: fields)
        case .caption:
            fields["text"] = .string(generator.text())
            change = .write(type: "SimulatedCaption", fields: fields)
        case .note:
            fields = fields.merging(Self.note(&generator))
            change = .write(type: "SimulatedNote", fields: fields)
        }
    }

    private static func note(_ generator: inout SeededGenerator) -> NamedFields {
        var fields: NamedFields = [
            "title": .string(generator.text()), "isDone": .int64(generator.chance(0.5) ? 1 : 0),
            "rank": .int64(Int64(generator.below(100))), "large": .int64(generator.number()),
            "ratio": .double(generator.fraction()), "price": .double(generator.fraction() * 100),
            "createdAt": .timestamp(milliseconds: Int64(generator.below(2_000_000_000)) * 1000),
        ]
        switch generator.below(8) {
        // Values that the Swift type can't hold, and a mandatory field that is missing.
        case 0: fields["rank"] = .int64(100_000)
        case 1: fields["title"] = .null
        case 2: fields["token"] = .string("no UUID")
        case 3: fields["isRead"] = .int64(2)
        case 4: fields["share"] = .double(generator.fraction())
        default:
            // Only a few fields, so that others' edits of the record stay.
            let kept = generator.pick(["title", "rank", "large"])
            fields = fields.filter { $0.key == kept }
        }
        return fields
    }
}

extension ForeignEdit {
    /// Adds values of types that no device knows, or that some know by now and others don't.
    mutating func addUnknownTypes(_ generator: inout SeededGenerator) {
        guard case .write(let type, var fields) = change, type != "Robot", generator.chance(0.3)
        else { return }
        let number = generator.below(100)
        let json = ["\(number)", "{\"unit\":\"s\",\"value\":\(number)}", "[[\(number)]]"]
        fields["span"] = .unknown(
            UnknownValue(typeName: "DURATION", json: generator.pick(json)))
        if type == "SimulatedNote", generator.chance(0.5) {
            // An attribute that the first version of the application does not declare.
            fields["plain"] = .unknown(UnknownValue(typeName: "INT64", json: "\(number)"))
        }
        change = .write(type: type, fields: fields)
    }
}
