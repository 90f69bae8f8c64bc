import BackstitchCore
import TestBudget
import Testing

@Suite(.budgeted) struct PushOrderTests {
    private func names(_ items: [PushItem]) -> [String] {
        let (order, arranged) = PushOrder.arrange(items)
        return order.map { arranged[$0].modification.recordName }
    }

    @Test func `targets come before what refers to them`() {
        let items = [
            Push.create("leaf", requires: ["f": "branch"]),
            Push.create("branch", requires: ["f": "root"]), Push.create("root"),
        ]
        #expect(names(items) == ["root", "branch", "leaf"])
    }

    @Test func `creates come first, deletes last and in order`() {
        let items = [
            Push.delete("d1"), Push.update("u1"), Push.create("c1"), Push.delete("d2"),
            Push.update("u2"), Push.create("c2"),
        ]
        #expect(names(items) == ["c1", "c2", "u1", "u2", "d1", "d2"])
    }

    @Test func `a circle is cut at the field that closes it`() {
        let items = [
            Push.create("a", requires: ["next": "b"]), Push.create("b", requires: ["next": "c"]),
            Push.create("c", requires: ["next": "a"]),
        ]
        let (order, arranged) = PushOrder.arrange(items)
        #expect(order == [2, 1, 0])
        #expect(arranged.map(\.deferredFields) == [[], [], ["next"]])
        #expect(
            arranged[2].sent
                == .create(recordName: "c", recordType: "Note", fields: ["text": .string("")]))
    }

    @Test func `a record that refers to itself is created without it`() {
        let (order, items) = PushOrder.arrange([Push.create("a", requires: ["own": "a"])])
        #expect(order == [0])
        #expect(items[0].deferredFields == ["own"])
    }

    @Test func `targets that are not created in the same pass do not matter`() {
        let items = [Push.create("a", requires: ["f": "there"]), Push.update("there")]
        #expect(names(items) == ["a", "there"])
    }

    @Test func `a chain of 100,000 records has its order`() {
        let count = 100_000
        let items = (0..<count).map { index in
            Push.create(
                "r\(index)", requires: index + 1 < count ? ["next": "r\(index + 1)"] : [:])
        }
        let (order, arranged) = PushOrder.arrange(items)
        #expect(order == Array((0..<count).reversed()))
        #expect(arranged.allSatisfy { $0.deferredFields.isEmpty })
    }
}
