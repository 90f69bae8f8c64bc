import Backstitch
import TestBudget
import Testing

@Suite(.budgeted) struct LiveIDTests {
    @Test func `new ids ascend and differ`() {
        let ids = (0..<1000).map { _ in Team.ID() }
        #expect(ids == ids.sorted())
        #expect(Set(ids).count == ids.count)
    }

    @Test func `tasks that make ids at once get different ones`() async {
        let ids = await withTaskGroup(of: [Team.ID].self) { group in
            for _ in 0..<8 { group.addTask { (0..<500).map { _ in Team.ID() } } }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(ids).count == 4000)
    }
}
