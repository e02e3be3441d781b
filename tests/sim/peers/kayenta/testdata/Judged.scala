// Makes judged.txt: it appends to each line of samples and options what Kayenta's own classes answer.
//
// Compile it with Scala 2.12 and Commons Math 3.6 (org.scala-lang:scala-compiler:2.12.18 and
// org.apache.commons:commons-math3:3.6.1 in Maven Central), together with these files of github.com/spinnaker/kayenta at
// commit a69573be9d8fededacf80817e4151a2c8df41276, and compile BrentSolver.java with javac:
//   kayenta-mannwhitney/src/main: MannWhitney.scala, BrentSolver.java
//   kayenta-judge/src/main/scala/com/netflix/kayenta/judge: classifiers/metric/MannWhitneyClassifier.scala,
//     classifiers/metric/BaseMetricClassifier.scala, preprocessing/Transforms.scala, stats/EffectSizes.scala,
//     stats/DescriptiveStatistics.scala, detectors/IQRDetector.scala, detectors/BaseOutlierDetector.scala,
//     utils/RandomUtils.scala
// Then: python3 samples.py | java -cp ... com.netflix.kayenta.judge.Judged > judged.txt
package com.netflix.kayenta.judge

import com.netflix.kayenta.judge.classifiers.metric._
import com.netflix.kayenta.judge.detectors.IQRDetector
import com.netflix.kayenta.judge.preprocessing.Transforms
import com.netflix.kayenta.mannwhitney.MannWhitney

// Stands for the class in NetflixACAJudge.scala, which needs Spring.
case class Metric(name: String, values: Array[Double], label: String)

object Judged {
  private def sample(text: String): Array[Double] = if (text == "-") Array() else text.split(",").map(_.toDouble)

  private def clean(text: String, nanStrategy: String, outlierFactor: String): Metric = {
    val metric = Metric("metric", sample(text), "Canary")
    val withoutNaN = if (nanStrategy == "remove") Transforms.removeNaNs(metric) else Transforms.replaceNaNs(metric)
    if (outlierFactor == "-") withoutNaN
    else Transforms.removeOutliers(withoutNaN, new IQRDetector(outlierFactor.toDouble, reduceSensitivity = true))
  }

  private def classify(fields: Array[String], experiment: Metric, control: Metric): String = {
    val classifier = new MannWhitneyClassifier(0.25, 0.98, (fields(8).toDouble, fields(9).toDouble),
      (fields(10).toDouble, fields(11).toDouble), fields(7))
    try {
      val found = classifier.classify(control, experiment, MetricDirection.parse(fields(2)), NaNStrategy.parse(fields(3)),
        fields(5) == "true", fields(6) == "true")
      s"${found.classification} ${found.critical}"
    } catch { case _: RuntimeException => "Error false" }
  }

  private def test(experiment: Metric, control: Metric): String =
    try {
      val found = new MannWhitney().mannWhitneyUTest(experiment.values, control.values, 0.98)
      s"${found.confidenceInterval(0)} ${found.confidenceInterval(1)} ${found.estimate}"
    } catch { case _: RuntimeException => "- - -" }

  def main(arguments: Array[String]): Unit =
    for (line <- scala.io.Source.stdin.getLines) {
      val fields = line.split(" ")
      val experiment = clean(fields(0), fields(3), fields(4))
      val control = clean(fields(1), fields(3), fields(4))
      println(s"$line ${classify(fields, experiment, control)} ${test(experiment, control)}")
    }
}
