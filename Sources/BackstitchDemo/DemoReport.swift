/// What the demo found, as its JSON output has it.
package struct DemoReport: Encodable {
    struct Conflicts: Encodable {
        var serverWins = 0
        var clientWins = 0
    }

    struct Rates: Encodable {
        var savesPerSecond = 0
        var pushedPerSecond = 0
        var pulledPerSecond = 0
    }

    var records = 0
    let devices = 2
    var conflicts = Conflicts()
    var converged = false
    var rebuildIdentical = false
    var lostOperations = 0
    var rates = Rates()
}
