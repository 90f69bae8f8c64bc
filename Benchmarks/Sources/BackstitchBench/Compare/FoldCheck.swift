import BenchmarkKit
import Foundation
import PeerInterface

/// Checks that a fold has the modifications that it should, a sample of them field by field.
struct FoldCheck {
    private let data: Dataset
    /// Every how many modifications one is looked at.
    private static let step = 97

    init(_ data: Dataset) { self.data = data }

    func check(_ count: Int, _ json: UnsafeRawBufferPointer) throws {
        guard count == data.records else {
            throw EngineFailure(
                description: "the fold has \(count) modifications, not \(data.records)")
        }
        var people: [String: Int] = [:]
        for number in 0..<data.records {
            people[UUID(uuid: data.people[number].id).uuidString] = number
        }
        var balances: [Int: Double] = [:]
        for (position, number) in data.updateOrder.enumerated() {
            balances[number] = data.updates[position].balance
        }
        let lines = [UInt8](json).split(separator: UInt8(ascii: "\n"))
        guard lines.count == data.records else {
            throw EngineFailure(
                description: "the JSON has \(lines.count) modifications, not \(data.records)")
        }
        for line in stride(from: 0, to: lines.count, by: Self.step).map({ lines[$0] }) {
            let modification = try Self.modification(line)
            guard modification.operationType == "create",
                let number = people[modification.record.recordName],
                modification.record.fields
                    == Self.fields(data.people[number], balance: balances[number] ?? 0)
            else {
                throw EngineFailure(
                    description: "a modification is wrong: "
                        + String(decoding: line, as: UTF8.self))
            }
        }
    }

    private struct Modification: Decodable {
        struct Field<Value: Decodable & Equatable>: Decodable, Equatable {
            let value: Value
        }

        struct Reference: Decodable, Equatable {
            let recordName: String
        }

        struct Fields: Decodable, Equatable {
            let firstName: Field<String>
            let lastName: Field<String>
            let email: Field<String>
            let notes: Field<String>
            let age: Field<Int64>
            let balance: Field<Double>
            let active: Field<Int>
            let createdAt: Field<Int64>
            let department: Field<Reference>
        }

        struct Record: Decodable {
            let recordName: String
            let fields: Fields
        }

        let operationType: String
        let record: Record
    }

    private static func fields(_ person: Person, balance: Double) -> Modification.Fields {
        Modification.Fields(
            firstName: .init(value: person.firstName), lastName: .init(value: person.lastName),
            email: .init(value: person.email), notes: .init(value: person.notes),
            age: .init(value: person.age), balance: .init(value: balance),
            active: .init(value: person.isActive ? 1 : 0),
            createdAt: .init(value: person.createdMilliseconds),
            department: .init(
                value: .init(recordName: UUID(uuid: person.department).uuidString)))
    }

    /// Reads a line, without what joins it to others in a list.
    private static func modification(_ line: ArraySlice<UInt8>) throws -> Modification {
        var bytes = line
        if bytes.first == UInt8(ascii: "[") { bytes.removeFirst() }
        while bytes.last != UInt8(ascii: "}"), !bytes.isEmpty { bytes.removeLast() }
        return try JSONDecoder().decode(Modification.self, from: Data(bytes))
    }
}
